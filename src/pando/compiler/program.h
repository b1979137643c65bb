// A compiled graph: kernel calls in order, the places of all values, and their division into
// sections. It owns no memory; an instance of the runtime binds it to arenas.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pando/compiler/pass.h"
#include "pando/compiler/pipeline.h"

namespace pando::compiler {

// The place of an operand. For Region::external, `value` is the variable or state itself.
struct Operand {
  Place place;
  const ir::Value* value = nullptr;
};

struct Call {
  const ir::Node* node = nullptr;
  const kernels::Kernel* kernel = nullptr;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  bool gathers_slices = false;
  int section = -1;  // -1: the prologue
  int bucket = -1;   // the bucket of gradients that this call completes; -1: none
  // The number of tiles in which a call of a chain runs, and the first and last call of the chain,
  // whose tiles run in between.
  int64_t tiles = 1;
  int chain_first = -1;
  int chain_last = -1;
};

// Calls that one slice can run without waiting for the other slices. All slices finish a segment
// before any starts the next. The first segment has no calls if slices have to wait for an earlier
// section.
struct Segment {
  std::vector<int> calls;  // indices into Program::calls()
  // What a slice runs: for Program::runnable(), the calls, with those of a chain tile by tile.
  std::vector<int> order = {};
};

// The calls of one micro-batch at one visit of a stage. Without a pipeline there is one section,
// which holds the whole step.
struct Section {
  int stage = 0;
  bool backward = false;
  std::vector<Segment> segments;
};

// Immutable after compile(); several instances may use it at once.
class Program {
 public:
  const ir::Graph& graph() const { return state_.graph; }
  const ProgramOptions& options() const { return state_.options; }
  const MemoryPlan& memory() const { return state_.memory; }
  const std::vector<Call>& calls() const { return calls_; }
  // The calls by number, followed by the calls of single tiles.
  const Call& runnable(int number) const {
    const auto at = static_cast<size_t>(number);
    return at < calls_.size() ? calls_[at] : tile_calls_[at - calls_.size()];
  }
  int runnables() const { return static_cast<int>(calls_.size() + tile_calls_.size()); }
  // Run once per update. All workers finish a segment before any starts the next.
  const std::vector<Segment>& prologue() const { return prologue_; }
  // Sections in the order in which a micro-batch passes through them.
  const std::vector<Section>& sections() const { return sections_; }
  const std::vector<PassRecord>& passes() const { return passes_; }
  const KernelChoice& choice(const ir::Node* node) const { return state_.kernels.at(node); }
  size_t scratch_bytes() const { return scratch_bytes_; }  // per worker
  Operand operand(const ir::Value* value) const;

  int stages() const { return static_cast<int>(state_.memory.stages.size()); }
  bool pipelined() const { return state_.options.pipelined; }
  // The index of the section; -1 if there is none.
  int section(int stage, bool backward) const;
  // The section after whose end losses, metrics and results can be read.
  int last_forward_section() const;

  int slices() const { return state_.options.slices; }
  bool in_parts() const { return state_.options.division == Division::parts; }
  // Whether slices never wait for each other within a section. If so, the slices of a worker share
  // one block of activations, which stays in its cache.
  bool depth_first() const;
  // The number of blocks of activations that `workers` workers need.
  size_t activation_blocks(int workers) const;

 private:
  friend std::unique_ptr<const Program> compile(ir::Graph graph, ProgramOptions options);
  void build_calls();
  void build_chain(const TileChain& chain, const std::vector<int>& calls);
  void add_to_order(Segment& segment, int number);
  void build_prologue();
  void build_sections();

  CompileState state_;
  std::vector<PassRecord> passes_;
  std::vector<Call> calls_;
  std::vector<Call> tile_calls_;
  std::unordered_map<int, std::vector<int>> chain_orders_;  // by the first call of a chain
  std::vector<Segment> prologue_;
  std::vector<Section> sections_;
  size_t scratch_bytes_ = 0;
};

// Runs the default pipeline. Throws InvalidArgument for errors that the user can fix.
std::unique_ptr<const Program> compile(ir::Graph graph, ProgramOptions options = {});

}  // namespace pando::compiler

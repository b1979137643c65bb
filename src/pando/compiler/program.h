// A compiled graph: kernel calls in order, the places of all values, and what runs when. It holds
// no memory; a runtime instance binds it to an arena.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pando/compiler/pass.h"
#include "pando/compiler/pipeline.h"

namespace pando::compiler {

// Where an operand lies. For Region::external, `value` is the variable or state itself.
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
};

// Calls that one slice can run without waiting for the others. All slices finish a segment
// before any begins the next.
struct Segment {
  std::vector<int> calls;  // indices into Program::calls()
};

// Immutable after compile(); several instances may use it at once.
class Program {
 public:
  const ir::Graph& graph() const { return state_.graph; }
  const CompileOptions& options() const { return state_.options; }
  const MemoryPlan& memory() const { return state_.memory; }
  const std::vector<Call>& calls() const { return calls_; }
  const std::vector<int>& prologue() const { return prologue_; }  // once per weight update
  const std::vector<Segment>& segments() const { return segments_; }
  const std::vector<PassRecord>& passes() const { return passes_; }
  const KernelChoice& choice(const ir::Node* node) const { return state_.kernels.at(node); }
  size_t scratch_bytes() const { return scratch_bytes_; }  // of one worker
  Operand operand(const ir::Value* value) const;

  int slices() const { return state_.options.slices; }
  bool in_parts() const { return state_.options.division == Division::parts; }
  // Whether a worker can take one slice through the whole step before the next: its slices then
  // share their activations, which stay in the worker's cache.
  bool depth_first() const { return !in_parts() && segments_.size() == 1; }
  // How many blocks of activations this many workers need.
  size_t activation_blocks(int workers) const;

 private:
  friend std::unique_ptr<const Program> compile(ir::Graph graph, CompileOptions options);
  void build_calls();
  void build_segments();

  CompileState state_;
  std::vector<PassRecord> passes_;
  std::vector<Call> calls_;
  std::vector<int> prologue_;
  std::vector<Segment> segments_;
  size_t scratch_bytes_ = 0;
};

// Runs the default pipeline. Throws InvalidArgument for what the user can mend.
std::unique_ptr<const Program> compile(ir::Graph graph, CompileOptions options = {});

}  // namespace pando::compiler

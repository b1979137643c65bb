// A compiler pass: one named rewrite or decision over a graph. Passes share a CompileState; each
// can be switched off and dumped by its name.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pando/compiler/kernel_choices.h"
#include "pando/compiler/memory_plan.h"
#include "pando/ir/graph.h"
#include "pando/kernels/kernel.h"
#include "pando/kernels/winograd_tiles.h"
#include "pando/tensor/precision.h"

namespace pando::compiler {

// How the work of a step is divided. The results depend on this division, not on which worker runs
// a slice. With `batch` each slice holds its own samples; with `parts` every call is cut into
// parts, for micro-batches with fewer samples than slices.
enum class Division { batch, parts };

// How backward recomputes activations instead of keeping those of forward. Results are the same.
// then_backward: a stage runs forward again from its inputs before it runs backward; the last
//   stage, whose backward follows immediately, keeps its activations.
// interleaved: each activation is computed again just before it is needed, starting from the
//   stage's inputs and from the checkpoints that the user marked; the last stage does so only for
//   activations before its last checkpoint.
enum class Recomputation { none, then_backward, interleaved };

struct ProgramOptions {
  int slices = 1;
  Division division = Division::batch;
  // Number of slices whose batch statistics are computed together, over several replicas; 0:
  // `slices`.
  int gathered_slices = 0;
  // Whether there is one section per stage and direction, instead of one for the whole step.
  bool pipelined = false;
  int stages = 1;  // of the pipeline, if there are more than in the graph's nodes
  Recomputation recomputation = Recomputation::none;
  Precision precision;
  HalfOptions half;
  size_t bucket_bytes = size_t{1} << 20;  // minimum size of a bucket of gradients
  // Maximum scratch memory of a kernel for convolutions and dense layers: one limit for all, or two
  // for each stage (convolutions, dense layers); empty: no limit. The reference kernel is always
  // allowed.
  std::vector<size_t> scratch_limits;
  WinogradTiles winograd = WinogradTiles::up_to_4;
  // What the samples of a tile may read and write in one call, so that the next call finds them in
  // a second-level cache; 0: no tiles.
  size_t tile_bytes = size_t{512} << 10;
  std::set<std::string> disabled_passes;
  // Called with the pass's name and the graph after each pass that changed the graph.
  std::function<void(std::string_view pass, const ir::Graph&)> dump;
  // Whether a candidate may be used for a node; empty: all may. The reference kernel is always
  // allowed.
  std::function<bool(const ir::Node&, const kernels::Candidate&)> accept;
  // Asked for every convolution and dense layer which candidate computes it; empty: the fixed order
  // of the candidates decides everywhere.
  Decide decide;
};

// The kernel of one node, and why the candidates before it refused.
struct KernelChoice {
  std::shared_ptr<const kernels::Kernel> kernel;
  std::string candidate;
  std::vector<std::string> refusals;  // "direct: reason"
  // The reason for this candidate, if ProgramOptions::decide returned a choice.
  std::optional<KernelDecision> decision = {};
};

// A sequence of nodes that a micro-batch passes through without a pause.
struct SectionMark {
  int stage = 0;
  bool backward = false;
};

// Nodes of one section, in order, that a lane runs on one tile of samples after the other: all of
// them on the first samples of a slice, then all of them on the next ones.
struct TileChain {
  std::vector<const ir::Node*> nodes;
  int64_t tiles = 2;
};

using TileKernels = std::vector<std::shared_ptr<const kernels::Kernel>>;  // by number of the tile

struct CompileState {
  ir::Graph graph;
  ProgramOptions options;
  // Filled by split-stages: the sections in the order of a micro-batch, and the section of each
  // node. Empty: one section.
  std::vector<SectionMark> sections;
  std::unordered_map<const ir::Node*, int> section_of;
  std::unordered_map<const ir::Node*, KernelChoice> kernels;      // filled by select-kernels
  std::vector<TileChain> chains;                                  // filled by tile-samples
  std::unordered_map<const ir::Node*, TileKernels> tile_kernels;  // of the nodes of the chains
  MemoryPlan memory;                                              // filled by plan-memory
};

class Pass {
 public:
  virtual ~Pass() = default;
  virtual std::string_view name() const = 0;  // kebab-case, as on the command line
  virtual std::string_view purpose() const = 0;
  // Whether every program needs this pass, so that it cannot be switched off.
  virtual bool required() const { return false; }
  // Returns whether the graph changed.
  virtual bool run(CompileState& state) const = 0;
};

}  // namespace pando::compiler

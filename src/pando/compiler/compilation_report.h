// What the compiler made of a network, as data: every op with its kernel, work and place in the
// step, sums over layers, and the memory. report.h writes it for people and for programs.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/compiler/memory_map.h"

namespace pando::compiler {

enum class StepPart { prologue, forward, backward };

std::string to_string(StepPart part);

// One call. Work and bytes are those of one slice; with parts, of all parts together.
struct OpReport {
  int call = 0;
  std::string op;
  std::string name;   // of the node
  std::string layer;  // that it came from, or the name of what is no layer, as the loss
  std::string kernel;
  std::string result;                 // type of the first output
  std::vector<std::string> layouts;   // of operands that are packed: "kernel as winograd-forward"
  std::vector<std::string> refusals;  // of kernels that would have been preferred
  bool slow = false;                  // fell back to the reference kernel
  StepPart part = StepPart::forward;
  int stage = 0;
  double flops = 0;
  size_t bytes_read = 0;
  size_t bytes_written = 0;
};

// Sums of one layer, as above.
struct LayerReport {
  std::string layer;
  int stage = 0;
  int ops = 0;
  double forward_flops = 0;
  double backward_flops = 0;
  size_t bytes_moved = 0;   // read and written
  int64_t weights = 0;      // trained
  size_t weight_bytes = 0;  // with its moving statistics
  size_t kept_bytes = 0;    // of its results that backward reads
};

// Bytes of one slice that stay: of a replica they exist once (weights, packed), once per slice
// (gradients, statistics), or once per slice and micro-batch in flight (held).
struct AlwaysLive {
  size_t weights = 0;
  size_t packed = 0;
  size_t gradients = 0;
  size_t statistics = 0;
  size_t held = 0;
};

// Requires: the program outlives it.
struct CompilationReport {
  const Program* program = nullptr;
  int64_t slice_batch = 1;  // samples of a slice; with parts, of the micro-batch
  std::vector<OpReport> ops;
  std::vector<LayerReport> layers;  // in the order of the network
  MemoryMap memory;
  AlwaysLive always_live;

  // Of one sample.
  double flops(StepPart part) const;
  double flops() const { return flops(StepPart::forward) + flops(StepPart::backward); }
};

// `layers` are the names of the network's layers in the order of execution; without them, nodes
// stand for layers.
CompilationReport compilation_report(const Program& program,
                                     const std::vector<std::string>& layers = {});

}  // namespace pando::compiler

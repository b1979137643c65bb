// The result of compiling a network, as data: every op with its kernel, work and place in the step,
// sums over layers, and the memory. report.h writes it for people and for programs.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/compiler/kernel_choices.h"
#include "pando/compiler/memory_map.h"

namespace pando::compiler {

enum class StepPart { prologue, forward, backward };

std::string to_string(StepPart part);

// One call. Work and bytes are those of one slice; with parts, of all parts together.
struct OpReport {
  int call = 0;
  std::string op;
  std::string name;   // of the node
  std::string layer;  // source layer; for other nodes, such as the loss, the node's name
  std::string kernel;
  std::string result;                 // type of the first output
  std::vector<std::string> layouts;   // of packed operands: "filter as winograd4-forward-avx512"
  std::vector<std::string> refusals;  // why preferred kernels were not used
  // Times and errors of the kernels that were compared, the chosen one first; empty: the fixed
  // order decided.
  std::vector<KernelTime> timed;
  std::string given;  // the candidate that was asked for without times; empty: none
  bool slow = false;  // fell back to the reference kernel
  StepPart part = StepPart::forward;
  int stage = 0;
  int64_t tiles = 1;  // of samples, in which the call runs
  double flops = 0;
  size_t bytes_read = 0;
  size_t bytes_written = 0;
};

// Sums over the calls of one layer, for one slice as in OpReport.
struct LayerReport {
  std::string layer;
  int stage = 0;
  int ops = 0;
  double forward_flops = 0;
  double backward_flops = 0;
  size_t bytes_moved = 0;   // read and written
  int64_t weights = 0;      // number of trained weights
  size_t weight_bytes = 0;  // including moving statistics
  size_t kept_bytes = 0;    // results of the layer that backward reads
};

// Bytes of one slice that stay allocated. A replica has them once (weights, packed), once per slice
// (gradients, statistics), or once per slice and micro-batch in flight (held).
struct AlwaysLive {
  size_t weights = 0;
  size_t packed = 0;
  size_t gradients = 0;
  size_t statistics = 0;
  size_t held = 0;
};

// Requires: the program outlives the report.
struct CompilationReport {
  const Program* program = nullptr;
  int64_t slice_batch = 1;  // samples of a slice; with parts, of the whole micro-batch
  std::vector<OpReport> ops;
  std::vector<LayerReport> layers;  // in the order of the network
  MemoryMap memory;
  AlwaysLive always_live;

  // Work of one sample.
  double flops(StepPart part) const;
  double flops() const { return flops(StepPart::forward) + flops(StepPart::backward); }
};

// `layers` are the names of the network's layers in the order of execution. If it is empty, every
// node counts as a layer.
CompilationReport compilation_report(const Program& program,
                                     const std::vector<std::string>& layers = {});

}  // namespace pando::compiler

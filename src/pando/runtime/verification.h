// Verification: one training step computed by programs that were compiled in different ways must
// give the same losses, results, gradients and statistics.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pando/compiler/pass.h"
#include "pando/runtime/program/variables.h"
#include "pando/tensor/precision.h"

namespace pando::runtime {

struct VerificationOptions {
  int slices = 1;
  int64_t slice_batch = 4;  // with parts: the whole micro-batch
  compiler::Division division = compiler::Division::batch;
  int64_t valid = 0;  // real samples of the micro-batch; 0: all of it
  uint64_t seed = 1;  // of the samples, and of the variables unless they are given
  Precision precision;
  WinogradTiles winograd = WinogradTiles::up_to_4;
  const KernelChoices* kernel_choices = nullptr;  // where the fixed order does not decide
  std::vector<size_t> scratch_limits;             // as compiler::ProgramOptions has them
  HalfOptions half;  // stochastic rounding is ignored: it differs from program to program
  // The weights to run with, in the type of the precision; null: random ones.
  VariableStore* variables = nullptr;
  double tolerance = 0;  // of the relative difference; 0: 5e-3, for f16 0.2, for bf16 0.5
};

// How much the outputs of one way to compile differ from those of the plainest way: one slice
// without padding, reference kernels, no optional pass.
struct VerificationRow {
  std::string variant;  // "default", "without fuse-post-ops"
  std::string worst;    // the output with the greatest relative difference
  double absolute = 0;  // the greatest difference of all elements
  // The greatest difference, divided by the output's greatest element. The divisor is at least a
  // thousandth of the greatest element among all outputs of its role, because gradients may be zero
  // except for rounding. In 16 bits it is a hundredth, and root mean squares replace greatest
  // elements.
  double relative = 0;
  bool ok = false;
};

struct VerificationTable {
  std::vector<VerificationRow> rows;
  double tolerance = 0;
  bool ok() const;
};

std::string to_text(const VerificationTable& table);

// Compiles and runs the graph that `build` returns for a slice's batch, divided as the options say:
// with no passes and reference kernels, with reference kernels only, by default, and with each pass
// off in turn. Throws InvalidArgument for options that fit no micro-batch.
VerificationTable verify_network_graph(const std::function<ir::Graph(int64_t slice_batch)>& build,
                                       const VerificationOptions& options = {});

}  // namespace pando::runtime

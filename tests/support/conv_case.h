// Convolutions and dense layers described by the shapes of their operands, for lists of cases.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ops/op.h"
#include "tests/support/kernel_case.h"

namespace pando::test {

struct ConvCase {
  Shape x;
  Shape filter;
  ir::Attributes attributes = {};
};

inline KernelCase conv(const ConvCase& c, bool bias, const std::string& activation = "none") {
  KernelCase result{.op = "conv", .inputs = {f32(c.x), f32(c.filter)}, .attributes = c.attributes};
  if (bias) result.inputs.push_back(f32({c.filter.back()}));
  result.attributes.set("activation", activation);
  result.attributes.set("alpha", 0.125);
  return result;
}

// "none", and the names of all that ops can apply to their results.
inline std::vector<std::string> all_activations() {
  std::vector<std::string> names = ops::builtin_ops().names_with(ops::Trait::post_op);
  names.insert(names.begin(), "none");
  return names;
}

// The relative tolerance of results with this activation. Some cut off how large the sums are, to
// which the error is relative.
inline double tolerance_with(const std::string& activation) {
  if (activation == "sigmoid" || activation == "tanh") return 1e-4;
  return activation == "relu6" ? 3e-5 : 1e-5;
}

struct DenseCase {
  int64_t batch;
  int64_t features;
  int64_t units;
};

}  // namespace pando::test

// Convolutions and dense layers described by the shapes of their operands, for lists of cases.
// SPDX-License-Identifier: MIT
#pragma once

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

struct DenseCase {
  int64_t batch;
  int64_t features;
  int64_t units;
};

}  // namespace pando::test

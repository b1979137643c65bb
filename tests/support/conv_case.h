// A convolution described by the shapes of its operands, for lists of cases in tests.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ir/graph.h"

namespace pando::test {

inline ir::TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }

struct ConvCase {
  Shape x;
  Shape kernel;
  ir::Attributes attributes = {};
};

}  // namespace pando::test

// numpy's rule for operands of different shapes, within a sample: the axes of the samples are
// aligned at the end, and an extent of 1 is repeated. The batch axis is first in both operands.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ops/op.h"

namespace pando::ops {

// Inputs 0 and 1 are f32; the result has the shape that the rule gives.
InferRule broadcast_f32();

// The shape of inputs `a` and `b` together. Throws InvalidArgument that names the node.
Shape broadcast_shape(const ir::Node& node, int a, int b);

// Adds `gradient`, which has the shape of the result, to the gradient of `value`: it is summed over
// the axes along which `value` was repeated. With a factor, the products are summed.
void add_reduced(GradBuilder& grad, ir::Value* value, ir::Value* gradient,
                 ir::Value* factor = nullptr);

}  // namespace pando::ops

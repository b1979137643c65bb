// x where x is positive, else alpha x. alpha has the axes of a sample, with an extent of 1 where
// the elements of an axis share it.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

void check_slopes(const ir::Node& node, const Shape& x, const Shape& alpha) {
  bool fits = alpha.rank() == x.rank() - 1;
  for (int axis = 0; fits && axis < alpha.rank(); ++axis) {
    fits = alpha[axis] == 1 || alpha[axis] == x[axis + 1];
  }
  if (!fits) {
    throw InvalidArgument(node.label(), ": alpha: expected the extents of a sample of ", x,
                          ", or 1 for a shared axis, got ", alpha);
  }
}

std::vector<ir::TensorType> infer_prelu(const ir::Node& node) {
  require_dtype(node, 0, DType::f32);
  require_dtype(node, 1, DType::f32);
  require_rank(node, 0, 2, 5);
  check_slopes(node, node.input(0)->shape(), node.input(1)->shape());
  if (node.num_inputs() > 2) require_f32_shape(node, 2, node.input(0)->shape());
  return {node.input(0)->type()};
}

}  // namespace

OpDef prelu_op() {
  return {
      .name = "prelu",
      .inputs = {{"x"}, {.name = "alpha", .shared = true}},
      .outputs = {"y"},
      .infer = infer_prelu,
      .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
        ir::Value* x = node.input(0);
        ir::Value* alpha = node.input(1);
        if (grad.wants(x)) {
          grad.add(x, grad.emit("prelu_input_grad", {x, alpha, dy[0]})->output());
        }
        if (grad.wants(alpha)) {
          grad.add(
              alpha,
              grad.emit("prelu_sums", {dy[0], x}, {{"shape", alpha->shape().dims()}})->output());
        }
      }};
}

OpDef prelu_input_grad_op() {
  return {.name = "prelu_input_grad",
          .inputs = {{"x"}, {.name = "alpha", .shared = true}, {"dy"}},
          .outputs = {"dx"},
          .traits = {Trait::no_grad},
          .infer = infer_prelu};
}

// The gradient of alpha: the sum of dy x over all elements that share it and are not positive.
OpDef prelu_sums_op() {
  return {.name = "prelu_sums",
          .inputs = {{"dy"}, {"x"}},
          .outputs = {"dalpha"},
          .attributes = {{"shape", ir::Ints{}}},
          .traits = {Trait::batch_sum, Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                require_dtype(node, 1, DType::f32);
                require_rank(node, 1, 2, 5);
                require_f32_shape(node, 0, node.input(1)->shape());
                const Shape alpha(ints_attribute(node, "shape"));
                check_slopes(node, node.input(1)->shape(), alpha);
                return std::vector{f32(alpha)};
              },
          .exact = {"dalpha"}};
}

}  // namespace pando::ops

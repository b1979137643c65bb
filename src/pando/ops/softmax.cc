// Softmax over the last axis. The gradient is computed from the result: y (dy - sum of dy y).
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

std::vector<ir::TensorType> infer_softmax(const ir::Node& node) {
  require_rank(node, 0, 2, 5);
  return same_f32_as_all_inputs()(node);
}

}  // namespace

OpDef softmax_op() {
  return {.name = "softmax",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .traits = {Trait::pixelwise, Trait::activation},
          .infer = infer_softmax,
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            grad.add(node.input(0), grad.emit("softmax_grad", {dy[0], node.output()})->output());
          }};
}

OpDef softmax_grad_op() {
  return {.name = "softmax_grad",
          .inputs = {{"dy"}, {"y"}},
          .outputs = {"dx"},
          .traits = {Trait::no_grad, Trait::pixelwise},
          .infer = infer_softmax};
}

}  // namespace pando::ops

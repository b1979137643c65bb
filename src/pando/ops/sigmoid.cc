// 1 / (1 + exp(-x)). The gradient is computed from the result: dy y (1 - y).
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef sigmoid_op() {
  return {.name = "sigmoid",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .traits = {Trait::in_place, Trait::pixelwise, Trait::activation, Trait::post_op},
          .infer = same_f32_as_all_inputs(),
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            grad.add(node.input(0), grad.emit("sigmoid_grad", {dy[0], node.output()})->output());
          }};
}

OpDef sigmoid_grad_op() {
  return {.name = "sigmoid_grad",
          .inputs = {{"dy"}, {"y"}},
          .outputs = {"dx"},
          .traits = {Trait::in_place, Trait::no_grad, Trait::pixelwise},
          .infer = same_f32_as_all_inputs()};
}

}  // namespace pando::ops

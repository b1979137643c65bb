// The hyperbolic tangent. The gradient is computed from the result: dy (1 - y^2).
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef tanh_op() {
  return {.name = "tanh",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .traits = {Trait::in_place, Trait::pixelwise, Trait::activation, Trait::post_op},
          .infer = same_f32_as_all_inputs(),
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            grad.add(node.input(0), grad.emit("tanh_grad", {dy[0], node.output()})->output());
          }};
}

OpDef tanh_grad_op() {
  return {.name = "tanh_grad",
          .inputs = {{"dy"}, {"y"}},
          .outputs = {"dx"},
          .traits = {Trait::in_place, Trait::no_grad, Trait::pixelwise},
          .infer = same_f32_as_all_inputs()};
}

}  // namespace pando::ops

// max(x, 0). The gradient is computed from the result, so x need not be kept.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef relu_op() {
  return {.name = "relu",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .traits = {Trait::in_place, Trait::pixelwise, Trait::activation, Trait::post_op},
          .infer = same_f32_as_all_inputs(),
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            grad.add(node.input(0), grad.emit("relu_grad", {dy[0], node.output()})->output());
          }};
}

// dy where y > 0, else 0.
OpDef relu_grad_op() {
  return {.name = "relu_grad",
          .inputs = {{"dy"}, {"y"}},
          .outputs = {"dx"},
          .traits = {Trait::in_place, Trait::no_grad, Trait::pixelwise},
          .infer = same_f32_as_all_inputs(),
          .gradient_of = "relu"};
}

}  // namespace pando::ops

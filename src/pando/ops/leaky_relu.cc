// x where x is positive, else alpha x. The gradient is computed from the result, which has the sign
// of x because alpha is not negative.
// SPDX-License-Identifier: MIT
#include "pando/ops/activation_attribute.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

std::vector<ir::TensorType> infer_leaky_relu(const ir::Node& node) {
  check_activation(node);
  return same_f32_as_all_inputs()(node);
}

}  // namespace

OpDef leaky_relu_op() {
  return {.name = "leaky_relu",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{"alpha", 0.3, {}}},
          .traits = {Trait::in_place, Trait::pixelwise, Trait::activation, Trait::post_op},
          .infer = infer_leaky_relu,
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            const ir::Node* dx = grad.emit("leaky_relu_grad", {dy[0], node.output()},
                                           {{"alpha", number_attribute(node, "alpha")}});
            grad.add(node.input(0), dx->output());
          }};
}

OpDef leaky_relu_grad_op() {
  return {.name = "leaky_relu_grad",
          .inputs = {{"dy"}, {"y"}},
          .outputs = {"dx"},
          .attributes = {{"alpha", 0.3, {}}},
          .traits = {Trait::in_place, Trait::no_grad, Trait::pixelwise},
          .infer = infer_leaky_relu,
          .gradient_of = "leaky_relu"};
}

}  // namespace pando::ops

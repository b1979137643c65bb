// Functions of mathematics, element by element, by name. Activations have ops of their own with
// fast kernels (curves.cc); these are for networks from elsewhere that compute with logarithms or
// angles.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

std::vector<AttributeSpec> function_attribute() {
  return {{"function",
           std::string("exp"),
           {"abs", "acos", "acosh", "asin", "asinh", "atan",       "atanh",   "ceil",
            "cos", "cosh", "erf",   "exp",  "floor", "log",        "round",   "sign",
            "sin", "sinh", "sqrt",  "tan",  "not",   "reciprocal", "softsign"}}};
}

}  // namespace

// round: halves go to the even neighbour. not: 1 for 0, else 0. softsign: x / (1 + |x|).
OpDef math_op() {
  return {.name = "math",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = function_attribute(),
          .traits = {Trait::in_place, Trait::pixelwise},
          .infer = same_f32_as_all_inputs(),
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            const ir::Node* dx = grad.emit("math_grad", {dy[0], node.input(0)},
                                           {{"function", text_attribute(node, "function")}});
            grad.add(node.input(0), dx->output());
          }};
}

// dy times the slope at x, 0 where dy is 0; the slope of a step is 0.
OpDef math_grad_op() {
  return {.name = "math_grad",
          .inputs = {{"dy"}, {"x"}},
          .outputs = {"dx"},
          .attributes = function_attribute(),
          .traits = {Trait::in_place, Trait::no_grad, Trait::pixelwise},
          .infer = same_f32_as_all_inputs()};
}

}  // namespace pando::ops

// Activations that are a function of one number each. The gradient is dy times the slope of the
// curve: at the result where the result determines it, so that x need not be kept, else at x.
// SPDX-License-Identifier: MIT
#include <limits>

#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

enum class SlopeAt { input, result };

OpDef curve(const std::string& name, SlopeAt slope, std::vector<AttributeSpec> attributes = {}) {
  const auto gradient = [=](const ir::Node& node, std::span<ir::Value* const> dy,
                            GradBuilder& grad) {
    ir::Value* at = slope == SlopeAt::input ? node.input(0) : node.output();
    ir::Attributes same;
    for (const AttributeSpec& spec : definition(node).attributes) {
      same.set(spec.name, number_attribute(node, spec.name));
    }
    grad.add(node.input(0), grad.emit(name + "_grad", {dy[0], at}, std::move(same))->output());
  };
  return {.name = name,
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = std::move(attributes),
          .traits = {Trait::in_place, Trait::pixelwise, Trait::activation},
          .infer = same_f32_as_all_inputs(),
          .grad = gradient};
}

OpDef curve_grad(const OpDef& forward, SlopeAt slope) {
  return {.name = forward.name + "_grad",
          .inputs = {{"dy"}, {slope == SlopeAt::input ? "x" : "y"}},
          .outputs = {"dx"},
          .attributes = forward.attributes,
          .traits = {Trait::in_place, Trait::no_grad, Trait::pixelwise},
          .infer = forward.infer};
}

// Lets other ops apply the activation to their results.
OpDef as_post_op(OpDef op) {
  op.traits.push_back(Trait::post_op);
  return op;
}

// Wraps the shape rule with a check. The negated comparison of `holds` refuses a NaN too.
OpDef checked(OpDef op, bool (*holds)(const ir::Node&), const char* expected) {
  op.infer = [=](const ir::Node& node) {
    if (!holds(node)) throw InvalidArgument(node.label(), ": expected ", expected);
    return same_f32_as_all_inputs()(node);
  };
  return op;
}

}  // namespace

// x where x is positive, else alpha (e^x - 1), which has the sign of x.
OpDef elu_op() {
  return checked(
      as_post_op(curve("elu", SlopeAt::result, {{"alpha", 1.0}})),
      [](const ir::Node& node) { return number_attribute(node, "alpha") >= 0; },
      "alpha of 0 or more");
}
OpDef elu_grad_op() { return curve_grad(elu_op(), SlopeAt::result); }

// elu with the two constants for which activations keep mean 0 and variance 1 from layer to layer.
OpDef selu_op() { return as_post_op(curve("selu", SlopeAt::result)); }
OpDef selu_grad_op() { return curve_grad(selu_op(), SlopeAt::result); }

// x times the normal distribution function of x; `approximate`: by the formula with tanh.
OpDef gelu_op() { return as_post_op(curve("gelu", SlopeAt::input, {{"approximate", 0.0}})); }
OpDef gelu_grad_op() { return curve_grad(gelu_op(), SlopeAt::input); }

// x sigmoid(x).
OpDef swish_op() { return as_post_op(curve("swish", SlopeAt::input)); }
OpDef swish_grad_op() { return curve_grad(swish_op(), SlopeAt::input); }

// alpha x + beta, cut off below 0 and above 1; the defaults are those of Keras 2 and ONNX.
OpDef hard_sigmoid_op() {
  return curve("hard_sigmoid", SlopeAt::result, {{"alpha", 0.2}, {"beta", 0.5}});
}
OpDef hard_sigmoid_grad_op() { return curve_grad(hard_sigmoid_op(), SlopeAt::result); }

// x times (x/6 + 1/2, cut off below 0 and above 1).
OpDef hard_swish_op() { return as_post_op(curve("hard_swish", SlopeAt::input)); }
OpDef hard_swish_grad_op() { return curve_grad(hard_swish_op(), SlopeAt::input); }

// log(1 + e^x).
OpDef softplus_op() { return as_post_op(curve("softplus", SlopeAt::input)); }
OpDef softplus_grad_op() { return curve_grad(softplus_op(), SlopeAt::input); }

// x tanh(softplus(x)).
OpDef mish_op() { return as_post_op(curve("mish", SlopeAt::input)); }
OpDef mish_grad_op() { return curve_grad(mish_op(), SlopeAt::input); }

// x cut off below `min` and above `max`; the slope at both ends is 0.
OpDef clip_op() {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return checked(
      curve("clip", SlopeAt::result, {{"min", -kLargest}, {"max", kLargest}}),
      [](const ir::Node& node) {
        return number_attribute(node, "min") <= number_attribute(node, "max");
      },
      "min of at most max");
}
OpDef clip_grad_op() { return curve_grad(clip_op(), SlopeAt::result); }

// clip from 0 to 6.
OpDef relu6_op() { return as_post_op(curve("relu6", SlopeAt::result)); }
OpDef relu6_grad_op() {
  OpDef op = curve_grad(relu6_op(), SlopeAt::result);
  op.gradient_of = "relu6";
  return op;
}

}  // namespace pando::ops

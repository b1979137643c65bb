// Arithmetic of two activations, element by element; samples of different shapes are repeated along
// their axes of extent 1 (broadcast.h). The gradient of an operand is summed over these axes.
// SPDX-License-Identifier: MIT
#include "pando/ops/activation_attribute.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/broadcast.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

OpDef arithmetic(std::string name, GradRule grad) {
  return {.name = std::move(name),
          .inputs = {{"a"}, {"b"}},
          .outputs = {"y"},
          .traits = {Trait::in_place, Trait::pixelwise},
          .infer = broadcast_f32(),
          .grad = std::move(grad)};
}

ir::Value* negative(GradBuilder& grad, ir::Value* x) {
  return grad.emit("scale", {x}, {{"factor", -1.0}})->output();
}

// The gradient goes to a where operand `larger` is at least the other one, and to b elsewhere.
GradRule gradient_of_extreme(int larger) {
  return [=](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
    ir::Value* kept =
        grad.emit("keep_at_least", {node.input(larger), node.input(1 - larger), dy[0]})->output();
    add_reduced(grad, node.input(0), kept);
    if (!grad.wants(node.input(1))) return;
    add_reduced(grad, node.input(1), grad.emit("subtract", {dy[0], kept})->output());
  };
}

}  // namespace

OpDef add_op() {
  return {.name = "add",
          .inputs = {{"a"}, {"b"}},
          .outputs = {"y"},
          .attributes = with_activation({}),
          .traits = {Trait::in_place, Trait::pixelwise, Trait::takes_post_op},
          .infer =
              [](const ir::Node& node) {
                check_activation(node);
                return broadcast_f32()(node);
              },
          .grad =
              [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
                require_no_activation(node);
                add_reduced(grad, node.input(0), dy[0]);
                add_reduced(grad, node.input(1), dy[0]);
              }};
}

OpDef subtract_op() {
  return arithmetic("subtract",
                    [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
                      add_reduced(grad, node.input(0), dy[0]);
                      if (!grad.wants(node.input(1))) return;
                      add_reduced(grad, node.input(1), negative(grad, dy[0]));
                    });
}

OpDef multiply_op() {
  return arithmetic("multiply",
                    [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
                      add_reduced(grad, node.input(0), dy[0], node.input(1));
                      add_reduced(grad, node.input(1), dy[0], node.input(0));
                    });
}

// With t = dy / b, the gradients are t and -t y.
OpDef divide_op() {
  return arithmetic("divide",
                    [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
                      ir::Value* t = grad.emit("divide", {dy[0], node.input(1)})->output();
                      add_reduced(grad, node.input(0), t);
                      if (!grad.wants(node.input(1))) return;
                      add_reduced(grad, node.input(1), negative(grad, t), node.output());
                    });
}

// A NaN of either operand is the result of maximum and minimum. Equal operands: the gradient goes
// to the first.
OpDef maximum_op() { return arithmetic("maximum", gradient_of_extreme(0)); }
OpDef minimum_op() { return arithmetic("minimum", gradient_of_extreme(1)); }

// a to the power of b or, without b, of `exponent`. The gradients are dy b a^(b - 1) and dy y
// log(a).
OpDef to_power_op() {
  OpDef op = arithmetic(
      "to_power", [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
        if (node.num_inputs() == 1) {
          const double exponent = number_attribute(node, "exponent");
          ir::Value* slope =
              grad.emit("to_power", {node.input(0)}, {{"exponent", exponent - 1}})->output();
          slope = grad.emit("scale", {slope}, {{"factor", exponent}})->output();
          return grad.add(node.input(0), grad.emit("times_slope", {dy[0], slope})->output());
        }
        if (grad.wants(node.input(0))) {
          ir::Value* less = grad.emit("scale", {node.input(1)}, {{"offset", -1.0}})->output();
          ir::Value* slope = grad.emit("to_power", {node.input(0), less})->output();
          slope = grad.emit("multiply", {slope, node.input(1)})->output();
          add_reduced(grad, node.input(0), grad.emit("times_slope", {dy[0], slope})->output());
        }
        if (!grad.wants(node.input(1))) return;
        ir::Value* log =
            grad.emit("math", {node.input(0)}, {{"function", std::string("log")}})->output();
        ir::Value* slope = grad.emit("multiply", {node.output(), log})->output();
        add_reduced(grad, node.input(1), grad.emit("times_slope", {dy[0], slope})->output());
      });
  op.inputs[1].optional = true;
  op.attributes = {{"exponent", 1.0}};
  op.infer = [](const ir::Node& node) {
    if (node.num_inputs() == 2) return broadcast_f32()(node);
    return same_f32_as_all_inputs()(node);
  };
  return op;
}

// dy times a slope, 0 where dy is 0: padded samples are 0, where the slope may be infinite.
OpDef times_slope_op() {
  return {.name = "times_slope",
          .inputs = {{"dy"}, {"slope"}},
          .outputs = {"dx"},
          .traits = {Trait::in_place, Trait::no_grad, Trait::pixelwise},
          .infer = same_f32_as_all_inputs()};
}

// dy where a is at least b, else 0.
OpDef keep_at_least_op() {
  return {.name = "keep_at_least",
          .inputs = {{"a"}, {"b"}, {"dy"}},
          .outputs = {"kept"},
          .traits = {Trait::no_grad, Trait::pixelwise},
          .infer = [](const ir::Node& node) {
            const Shape shape = broadcast_shape(node, 0, 1);
            require_f32_shape(node, 2, shape);
            return std::vector{f32(shape)};
          }};
}

}  // namespace pando::ops

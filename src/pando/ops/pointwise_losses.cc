// Losses that are a mean over all elements of a sample: squared and absolute difference, Huber's
// loss, binary cross-entropy. Also dice, a ratio of such sums. The gradient of the absolute
// difference is zero where the difference is zero.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/loss_rules.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

using CheckAttributes = void (*)(const ir::Node&);

// Checks inputs from `first` on: prediction, target, weight. Returns the prediction's type.
const ir::TensorType& check_pointwise(const ir::Node& node, int first) {
  require_rank(node, first, 1, 5);
  const ir::TensorType& prediction = node.input(first)->type();
  require_dtype(node, first, DType::f32);
  require_f32_shape(node, first + 1, prediction.shape);
  check_sample_weight(node, first + 2, prediction.shape[0]);
  return prediction;
}

OpDef pointwise_loss(const std::string& name, std::vector<AttributeSpec> attributes = {},
                     CheckAttributes check = nullptr) {
  return {.name = name,
          .inputs = {{"prediction"}, {"target"}, {.name = "weight", .optional = true}},
          .outputs = {"loss"},
          .attributes = std::move(attributes),
          .infer =
              [check](const ir::Node& node) {
                if (check != nullptr) check(node);
                return std::vector{f32({check_pointwise(node, 0).shape[0]})};
              },
          .grad = gradient_of_prediction(name + "_grad"),
          .exact = {"target", "weight", "loss"}};
}

OpDef pointwise_loss_grad(const OpDef& loss, CheckAttributes check = nullptr) {
  return {.name = loss.name + "_grad",
          .inputs = {{"dloss"}, {"prediction"}, {"target"}, {.name = "weight", .optional = true}},
          .outputs = {"dprediction"},
          .attributes = loss.attributes,
          .traits = {Trait::no_grad},
          .infer =
              [check](const ir::Node& node) {
                if (check != nullptr) check(node);
                const ir::TensorType& prediction = check_pointwise(node, 1);
                require_f32_shape(node, 0, {prediction.shape[0]});
                return std::vector{prediction};
              },
          .exact = {"dloss", "target", "weight"}};
}

void check_huber(const ir::Node& node) {
  const double delta = number_attribute(node, "delta");
  if (!(delta > 0)) {
    throw InvalidArgument(node.label(), ": delta: expected a number above 0, got ", delta);
  }
}

void check_dice(const ir::Node& node) {
  const double smooth = number_attribute(node, "smooth");
  if (!(smooth > 0)) {
    throw InvalidArgument(node.label(), ": smooth: expected a number above 0, got ", smooth);
  }
}

}  // namespace

OpDef mean_squared_error_op() { return pointwise_loss("mean_squared_error"); }
OpDef mean_squared_error_grad_op() { return pointwise_loss_grad(mean_squared_error_op()); }
OpDef mean_absolute_error_op() { return pointwise_loss("mean_absolute_error"); }
OpDef mean_absolute_error_grad_op() { return pointwise_loss_grad(mean_absolute_error_op()); }

// Half the square of a difference up to delta, and a line beyond it.
OpDef huber_op() { return pointwise_loss("huber", {{"delta", 1.0}}, check_huber); }
OpDef huber_grad_op() { return pointwise_loss_grad(huber_op(), check_huber); }

// -(y log p + (1 - y) log(1 - p)) of probabilities (clipped to [1e-7, 1 - 1e-7]) or logits, times
// (y (1 - p) + (1 - y) p)^gamma and, if alpha is not negative, times y alpha + (1 - y)(1 - alpha):
// the focal loss. Smoothing moves labels towards 1/2.
OpDef binary_cross_entropy_op() {
  return pointwise_loss("binary_cross_entropy", cross_entropy_attributes(),
                        check_cross_entropy_attributes);
}
OpDef binary_cross_entropy_grad_op() {
  return pointwise_loss_grad(binary_cross_entropy_op(), check_cross_entropy_attributes);
}

// 1 - (2 sum(p y) + smooth) / (sum(p) + sum(y) + smooth), over all elements of a sample.
OpDef dice_op() { return pointwise_loss("dice", {{"smooth", 1e-7}}, check_dice); }
OpDef dice_grad_op() { return pointwise_loss_grad(dice_op(), check_dice); }

}  // namespace pando::ops

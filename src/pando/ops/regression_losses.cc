// Regression losses per sample: the mean of the squared or of the absolute difference over all
// other axes. The gradient of the absolute difference is zero where the difference is zero.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/loss_rules.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

// Checks inputs from `first` on: prediction, target, weight. Returns the prediction's type.
const ir::TensorType& check_regression(const ir::Node& node, int first) {
  require_rank(node, first, 1, 5);
  const ir::TensorType& prediction = node.input(first)->type();
  require_dtype(node, first, DType::f32);
  require_f32_shape(node, first + 1, prediction.shape);
  check_sample_weight(node, first + 2, prediction.shape[0]);
  return prediction;
}

OpDef regression_loss(const std::string& name) {
  return {.name = name,
          .inputs = {{"prediction"}, {"target"}, {.name = "weight", .optional = true}},
          .outputs = {"loss"},
          .infer =
              [](const ir::Node& node) {
                return std::vector{f32({check_regression(node, 0).shape[0]})};
              },
          .grad = gradient_of_prediction(name + "_grad"),
          .exact = {"target", "weight", "loss"}};
}

OpDef regression_loss_grad(std::string name) {
  return {.name = std::move(name),
          .inputs = {{"dloss"}, {"prediction"}, {"target"}, {.name = "weight", .optional = true}},
          .outputs = {"dprediction"},
          .traits = {Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                const ir::TensorType& prediction = check_regression(node, 1);
                require_f32_shape(node, 0, {prediction.shape[0]});
                return std::vector{prediction};
              },
          .exact = {"dloss", "target", "weight"}};
}

}  // namespace

OpDef mean_squared_error_op() { return regression_loss("mean_squared_error"); }
OpDef mean_squared_error_grad_op() { return regression_loss_grad("mean_squared_error_grad"); }
OpDef mean_absolute_error_op() { return regression_loss("mean_absolute_error"); }
OpDef mean_absolute_error_grad_op() { return regression_loss_grad("mean_absolute_error_grad"); }

}  // namespace pando::ops

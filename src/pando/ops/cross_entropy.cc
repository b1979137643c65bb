// Cross-entropy per sample, from probabilities (clipped to [1e-7, 1 - 1e-7]) or logits, against
// class numbers or distributions, with label smoothing. A class number out of range marks a sample
// without a label: its loss and its gradient are zero. With gamma, each class counts (1 - p)^gamma;
// an alpha that is not negative multiplies all (the focal loss). The loss of a sample of several
// pixels is the mean over those that have a label.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/loss_rules.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

// Checks inputs from `first` on: predictions, labels, weight. Returns the predictions' type.
const ir::TensorType& check_cross_entropy(const ir::Node& node, int first) {
  check_labels(node, first + 1);
  const ir::TensorType& predictions = node.input(first)->type();
  check_sample_weight(node, first + 2, predictions.shape[0]);
  check_cross_entropy_attributes(node);
  return predictions;
}

}  // namespace

OpDef cross_entropy_op() {
  return {.name = "cross_entropy",
          .inputs = {{"predictions"}, {"labels"}, {.name = "weight", .optional = true}},
          .outputs = {"loss"},
          .attributes = cross_entropy_attributes(),
          .infer =
              [](const ir::Node& node) {
                return std::vector{f32({check_cross_entropy(node, 0).shape[0]})};
              },
          .grad = gradient_of_prediction("cross_entropy_grad"),
          .exact = {"labels", "weight", "loss"}};
}

OpDef cross_entropy_grad_op() {
  return {.name = "cross_entropy_grad",
          .inputs = {{"dloss"}, {"predictions"}, {"labels"}, {.name = "weight", .optional = true}},
          .outputs = {"dpredictions"},
          .attributes = cross_entropy_attributes(),
          .traits = {Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                const ir::TensorType& predictions = check_cross_entropy(node, 1);
                require_f32_shape(node, 0, {predictions.shape[0]});
                return std::vector{predictions};
              },
          .exact = {"dloss", "labels", "weight"}};
}

}  // namespace pando::ops

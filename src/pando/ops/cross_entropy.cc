// Cross-entropy per sample, from probabilities (clipped to [1e-7, 1 - 1e-7]) or logits, against
// class numbers or distributions, with label smoothing. A class number out of range marks a sample
// without a label: its loss and its gradient are zero.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/loss_rules.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

// Checks inputs from `first` on: predictions, labels, weight. Returns the predictions' type.
const ir::TensorType& check_cross_entropy(const ir::Node& node, int first) {
  check_labels(node, first + 1);
  const ir::TensorType& predictions = node.input(first)->type();
  check_sample_weight(node, first + 2, predictions.shape[0]);
  const int64_t from_logits = int_attribute(node, "from_logits");
  if (from_logits != 0 && from_logits != 1) {
    throw InvalidArgument(node.label(), ": from_logits: expected 0 or 1, got ", from_logits);
  }
  const double smoothing = number_attribute(node, "label_smoothing");
  if (!(smoothing >= 0 && smoothing <= 1)) {
    throw InvalidArgument(node.label(), ": label_smoothing: expected 0 to 1, got ", smoothing);
  }
  return predictions;
}

std::vector<AttributeSpec> cross_entropy_attributes() {
  return {{"from_logits", int64_t{0}, {}}, {"label_smoothing", 0.0, {}}};
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

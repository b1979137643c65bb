// SPDX-License-Identifier: MIT
#include "pando/ops/loss_rules.h"

#include "pando/base/error.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

void check_sample_weight(const ir::Node& node, int index, int64_t batch) {
  if (node.num_inputs() > index) require_f32_shape(node, index, {batch});
}

GradRule gradient_of_prediction(std::string op) {
  return [op = std::move(op)](const ir::Node& node, std::span<ir::Value* const> dloss,
                              GradBuilder& grad) {
    if (!grad.wants(node.input(0))) return;
    std::vector<ir::Value*> inputs = node.inputs();
    inputs.insert(inputs.begin(), dloss[0]);
    grad.add(node.input(0), grad.emit(op, inputs, node.attributes())->output());
  };
}

void check_labels(const ir::Node& node, int index) {
  require_dtype(node, index - 1, DType::f32);
  require_rank(node, index - 1, 2, 5);
  const Shape& predictions = node.input(index - 1)->shape();
  const ir::TensorType& labels = node.input(index)->type();
  const Shape pixels(std::vector<int64_t>(predictions.begin(), predictions.end() - 1));
  const bool sparse = labels == ir::TensorType{DType::i32, pixels};
  if (!sparse && labels != f32(predictions)) {
    throw InvalidArgument(node.label(), ": labels: expected i32", pixels, " or f32", predictions,
                          ", got ", to_string(labels));
  }
}

std::vector<AttributeSpec> cross_entropy_attributes() {
  return {{"from_logits", int64_t{0}}, {"label_smoothing", 0.0}, {"gamma", 0.0}, {"alpha", -1.0}};
}

void check_cross_entropy_attributes(const ir::Node& node) {
  const int64_t from_logits = int_attribute(node, "from_logits");
  if (from_logits != 0 && from_logits != 1) {
    throw InvalidArgument(node.label(), ": from_logits: expected 0 or 1, got ", from_logits);
  }
  const double smoothing = number_attribute(node, "label_smoothing");
  if (!(smoothing >= 0 && smoothing <= 1)) {
    throw InvalidArgument(node.label(), ": label_smoothing: expected 0 to 1, got ", smoothing);
  }
  const double gamma = number_attribute(node, "gamma");
  if (!(gamma >= 0)) {
    throw InvalidArgument(node.label(), ": gamma: expected 0 or more, got ", gamma);
  }
  const double alpha = number_attribute(node, "alpha");
  if (!(alpha <= 1)) {
    throw InvalidArgument(node.label(), ": alpha: expected at most 1, got ", alpha);
  }
}

}  // namespace pando::ops

// SPDX-License-Identifier: MIT
#include "pando/ops/loss_rules.h"

#include "pando/base/error.h"
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
  require_rank(node, index - 1, 2, 2);
  const Shape& predictions = node.input(index - 1)->shape();
  const ir::TensorType& labels = node.input(index)->type();
  const bool sparse = labels == ir::TensorType{DType::i32, {predictions[0]}};
  if (!sparse && labels != f32(predictions)) {
    throw InvalidArgument(node.label(), ": labels: expected i32[", predictions[0], "] or f32",
                          predictions, ", got ", to_string(labels));
  }
}

}  // namespace pando::ops

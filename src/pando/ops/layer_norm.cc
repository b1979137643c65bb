// Layer normalisation: statistics per sample over the last `axes` axes, one pair for each row of
// these axes. gamma and beta have the shape of a row; `scale` and `center` say whether they exist.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

struct LayerNormTypes {
  Shape row;                 // the normalised axes
  ir::TensorType statistic;  // one number per row
};

LayerNormTypes layer_norm_types(const ir::Node& node, int x) {
  require_dtype(node, x, DType::f32);
  require_rank(node, x, 2, 5);
  const Shape& shape = node.input(x)->shape();
  const int64_t axes = int_attribute(node, "axes");
  if (axes < 1 || axes >= shape.rank()) {
    throw InvalidArgument(node.label(), ": axes: expected 1 to ", shape.rank() - 1,
                          " axes at the end of ", shape, ", got ", axes);
  }
  const Shape row(std::vector<int64_t>(shape.end() - axes, shape.end()));
  const int64_t size = row.elements();
  if (size < 1) throw InvalidArgument(node.label(), ": expected elements, got shape ", shape);
  return {row, f32({shape[0], shape.elements_from(1) / size})};
}

LayerNormTypes check_layer_norm_backward(const ir::Node& node) {
  LayerNormTypes types = layer_norm_types(node, 1);
  require_f32_shape(node, 0, node.input(1)->shape());
  require_f32_shape(node, 2, types.statistic.shape);
  require_f32_shape(node, 3, types.statistic.shape);
  return types;
}

int flag_attribute(const ir::Node& node, const char* name) {
  const int64_t value = int_attribute(node, name);
  if (value == 0 || value == 1) return static_cast<int>(value);
  throw InvalidArgument(node.label(), ": ", name, ": expected 0 or 1, got ", value);
}

// The weights begin at input `first`.
void check_layer_norm_weights(const ir::Node& node, int first, int weights, const Shape& row) {
  if (node.num_inputs() != first + weights) {
    throw InvalidArgument(node.label(), ": scale and center: expected ", weights,
                          " weights after the other inputs, got ", node.num_inputs() - first);
  }
  for (int i = 0; i < weights; ++i) require_f32_shape(node, first + i, row);
}

std::vector<ir::TensorType> infer_layer_norm(const ir::Node& node) {
  const double epsilon = number_attribute(node, "epsilon");
  if (!(epsilon >= 0)) {
    throw InvalidArgument(node.label(), ": epsilon: expected 0 or more, got ", epsilon);
  }
  const LayerNormTypes types = layer_norm_types(node, 0);
  check_layer_norm_weights(node, 1, flag_attribute(node, "scale") + flag_attribute(node, "center"),
                           types.row);
  return {node.input(0)->type(), types.statistic, types.statistic};
}

void add_layer_norm_gradients(const ir::Node& node, std::span<ir::Value* const> dy,
                              GradBuilder& grad) {
  if (dy[1] != nullptr || dy[2] != nullptr) {
    throw Unsupported(node.label(),
                      ": mean and inv_std have no gradient; use only y in what is differentiated");
  }
  const int64_t axes = int_attribute(node, "axes");
  const int scale = flag_attribute(node, "scale");
  ir::Value* gamma = scale == 1 ? node.input(1) : nullptr;
  ir::Value* beta = flag_attribute(node, "center") == 1 ? node.input(1 + scale) : nullptr;
  std::vector<ir::Value*> inputs = {dy[0], node.input(0), node.output(1), node.output(2)};
  const bool wants_gamma = gamma != nullptr && grad.wants(gamma);
  const bool wants_beta = beta != nullptr && grad.wants(beta);
  if (wants_gamma || wants_beta) {
    const ir::Node* sums = grad.emit("layer_norm_sums", inputs, {{"axes", axes}}, 2);
    if (wants_beta) grad.add(beta, sums->output(0));
    if (wants_gamma) grad.add(gamma, sums->output(1));
  }
  if (!grad.wants(node.input(0))) return;
  if (gamma != nullptr) inputs.push_back(gamma);
  grad.add(node.input(0),
           grad.emit("layer_norm_input_grad", inputs, {{"axes", axes}, {"scale", int64_t{scale}}})
               ->output());
}

}  // namespace

OpDef layer_norm_op() {
  return {.name = "layer_norm",
          .inputs = {{"x"},
                     {.name = "gamma", .optional = true, .shared = true},
                     {.name = "beta", .optional = true, .shared = true}},
          .outputs = {"y", "mean", "inv_std"},
          .attributes = {{"axes", int64_t{1}},
                         {"epsilon", 0.001},
                         {"scale", int64_t{1}},
                         {"center", int64_t{1}}},
          .infer = infer_layer_norm,
          .grad = add_layer_norm_gradients,
          .exact = {"mean", "inv_std"}};
}

OpDef layer_norm_sums_op() {
  return {.name = "layer_norm_sums",
          .inputs = {{"dy"}, {"x"}, {"mean"}, {"inv_std"}},
          .outputs = {"dbeta", "dgamma"},
          .attributes = {{"axes", int64_t{1}}},
          .traits = {Trait::batch_sum, Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                return std::vector<ir::TensorType>(2, f32(check_layer_norm_backward(node).row));
              },
          .exact = {"mean", "inv_std", "dbeta", "dgamma"}};
}

OpDef layer_norm_input_grad_op() {
  return {.name = "layer_norm_input_grad",
          .inputs = {{"dy"},
                     {"x"},
                     {"mean"},
                     {"inv_std"},
                     {.name = "gamma", .optional = true, .shared = true}},
          .outputs = {"dx"},
          .attributes = {{"axes", int64_t{1}}, {"scale", int64_t{1}}},
          .traits = {Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                const LayerNormTypes types = check_layer_norm_backward(node);
                check_layer_norm_weights(node, 4, flag_attribute(node, "scale"), types.row);
                return std::vector{node.input(1)->type()};
              },
          .exact = {"mean", "inv_std"}};
}

}  // namespace pando::ops

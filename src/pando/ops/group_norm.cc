// Group normalisation: statistics per sample and group of channels. A group is a range of
// consecutive channels or, with strided = 1, the channels c with the same c mod groups.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

// Checks input `x` and the groups; returns the type of one statistic per sample and group.
ir::TensorType check_groups(const ir::Node& node, int x) {
  require_dtype(node, x, DType::f32);
  require_rank(node, x, 2, 5);
  const Shape& shape = node.input(x)->shape();
  const int64_t groups = int_attribute(node, "groups");
  if (groups < 1) {
    throw InvalidArgument(node.label(), ": groups: expected at least 1, got ", groups);
  }
  if (shape.back() % groups != 0) {
    throw InvalidArgument(node.label(), ": ", shape.back(), " channels do not divide into ", groups,
                          " groups");
  }
  const int64_t strided = int_attribute(node, "strided");
  if (strided != 0 && strided != 1) {
    throw InvalidArgument(node.label(), ": strided: expected 0 or 1, got ", strided);
  }
  return f32({shape[0], groups});
}

// Checks the first four inputs of both backward ops: dy, x, mean, inv_std.
void check_backward(const ir::Node& node) {
  const ir::TensorType statistic = check_groups(node, 1);
  require_f32_shape(node, 0, node.input(1)->shape());
  require_f32_shape(node, 2, statistic.shape);
  require_f32_shape(node, 3, statistic.shape);
}

std::vector<ir::TensorType> infer_group_norm(const ir::Node& node) {
  const double epsilon = number_attribute(node, "epsilon");
  if (!(epsilon >= 0)) {
    throw InvalidArgument(node.label(), ": epsilon: expected 0 or more, got ", epsilon);
  }
  const ir::TensorType statistic = check_groups(node, 0);
  const int64_t channels = node.input(0)->shape().back();
  require_f32_shape(node, 1, {channels});
  require_f32_shape(node, 2, {channels});
  return {node.input(0)->type(), statistic, statistic};
}

void add_group_norm_gradients(const ir::Node& node, std::span<ir::Value* const> dy,
                              GradBuilder& grad) {
  if (dy[1] != nullptr || dy[2] != nullptr) {
    throw Unsupported(node.label(),
                      ": mean and inv_std have no gradient; use only y in what is differentiated");
  }
  ir::Value* gamma = node.input(1);
  const ir::Attributes attributes = {{"groups", int_attribute(node, "groups")},
                                     {"strided", int_attribute(node, "strided")}};
  std::vector<ir::Value*> inputs = {dy[0], node.input(0), node.output(1), node.output(2)};
  if (grad.wants(gamma) || grad.wants(node.input(2))) {
    const ir::Node* sums = grad.emit("group_norm_sums", inputs, attributes, 2);
    grad.add(node.input(2), sums->output(0));
    grad.add(gamma, sums->output(1));
  }
  if (!grad.wants(node.input(0))) return;
  inputs.push_back(gamma);
  grad.add(node.input(0), grad.emit("group_norm_input_grad", inputs, attributes)->output());
}

std::vector<AttributeSpec> group_attributes() {
  return {{"groups", int64_t{0}, {}}, {"strided", int64_t{0}, {}}};
}

}  // namespace

OpDef group_norm_op() {
  auto attributes = group_attributes();
  attributes.push_back({"epsilon", 0.001, {}});
  return {.name = "group_norm",
          .inputs = {{"x"}, {.name = "gamma", .shared = true}, {.name = "beta", .shared = true}},
          .outputs = {"y", "mean", "inv_std"},
          .attributes = attributes,
          .infer = infer_group_norm,
          .grad = add_group_norm_gradients,
          .exact = {"mean", "inv_std"}};
}

OpDef group_norm_sums_op() {
  return {.name = "group_norm_sums",
          .inputs = {{"dy"}, {"x"}, {"mean"}, {"inv_std"}},
          .outputs = {"dbeta", "dgamma"},
          .attributes = group_attributes(),
          .traits = {Trait::batch_sum, Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                check_backward(node);
                return std::vector<ir::TensorType>(2, f32({node.input(1)->shape().back()}));
              },
          .exact = {"mean", "inv_std", "dbeta", "dgamma"}};
}

OpDef group_norm_input_grad_op() {
  return {.name = "group_norm_input_grad",
          .inputs = {{"dy"}, {"x"}, {"mean"}, {"inv_std"}, {.name = "gamma", .shared = true}},
          .outputs = {"dx"},
          .attributes = group_attributes(),
          .traits = {Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                check_backward(node);
                require_f32_shape(node, 4, {node.input(1)->shape().back()});
                return std::vector{node.input(1)->type()};
              },
          .exact = {"mean", "inv_std"}};
}

}  // namespace pando::ops

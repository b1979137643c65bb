// Convolution over two or three spatial axes, channels-last, its two gradients, and transposed
// convolution, which is the input gradient as an op of its own.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/activation_attribute.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/conv_rules.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

void check_groups(const ir::Node& node, int64_t in_channels, int64_t out_channels) {
  const int64_t groups = int_attribute(node, "groups");
  if (groups < 1) {
    throw InvalidArgument(node.label(), ": groups: expected at least 1, got ", groups);
  }
  if (in_channels % groups != 0 || out_channels % groups != 0) {
    throw InvalidArgument(node.label(), ": ", in_channels, " input and ", out_channels,
                          " output channels do not divide into ", groups, " groups");
  }
}

void add_conv_gradients(const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
  require_no_activation(node);
  ir::Value* x = node.input(0);
  ir::Value* filter = node.input(1);
  ir::Attributes attributes = node.attributes();
  attributes.erase("activation");
  attributes.erase("alpha");
  if (grad.wants(x)) {
    ir::Attributes of_input = attributes;
    of_input.set("input", spatial_extents(x->shape()));
    grad.add(x, grad.emit("conv_input_grad", {dy[0], filter}, of_input)->output());
  }
  const bool bias = node.num_inputs() > 2 && grad.wants(node.input(2));
  if (node.num_inputs() > 3) grad.add(node.input(3), dy[0]);
  if (!bias && !grad.wants(filter)) return;
  attributes.set("filter", ir::Ints(filter->shape().begin(), filter->shape().end() - 2));
  const ir::Node* sums = grad.emit("conv_filter_grad", {x, dy[0]}, attributes, bias ? 2 : 1);
  grad.add(filter, sums->output(0));
  if (bias) grad.add(node.input(2), sums->output(1));
}

std::vector<ir::TensorType> infer_conv_input_grad(const ir::Node& node) {
  require_rank(node, 0, 4, 5);
  const Shape& dy = node.input(0)->shape();
  require_rank(node, 1, dy.rank(), dy.rank());
  const Shape& filter = node.input(1)->shape();
  const int64_t groups = int_attribute(node, "groups");
  check_groups(node, filter[filter.rank() - 2] * groups, filter.back());
  const Windows windows = conv_windows(node);
  require_dtype(node, 1, DType::f32);
  require_f32_shape(node, 0, channels_last(dy[0], output_extents(windows), filter.back()));
  return {f32(channels_last(dy[0], input_extents(windows), filter[filter.rank() - 2] * groups))};
}

std::vector<ir::TensorType> infer_conv_filter_grad(const ir::Node& node) {
  require_rank(node, 0, 4, 5);
  require_dtype(node, 0, DType::f32);
  const Shape& x = node.input(0)->shape();
  require_rank(node, 1, x.rank(), x.rank());
  const int64_t out_channels = node.input(1)->shape().back();
  check_groups(node, x.back(), out_channels);
  const Windows windows = conv_windows(node);
  require_f32_shape(node, 1, channels_last(x[0], output_extents(windows), out_channels));
  std::vector<int64_t> filter = ints_attribute(node, "filter");
  filter.push_back(x.back() / int_attribute(node, "groups"));
  filter.push_back(out_channels);
  return {f32(Shape(filter)), f32({out_channels})};
}

std::vector<ir::TensorType> infer_conv_transpose(const ir::Node& node) {
  auto types = infer_conv_input_grad(node);
  if (node.num_inputs() == 3) require_f32_shape(node, 2, {types[0].shape.back()});
  check_activation(node);
  return types;
}

// With the roles of x and y exchanged, the gradients are a convolution and its filter gradient.
void add_conv_transpose_gradients(const ir::Node& node, std::span<ir::Value* const> dy,
                                  GradBuilder& grad) {
  require_no_activation(node);
  ir::Value* x = node.input(0);
  ir::Value* filter = node.input(1);
  ir::Attributes attributes = node.attributes();
  for (const char* own : {"activation", "alpha", "output"}) attributes.erase(own);
  if (grad.wants(x)) grad.add(x, grad.emit("conv", {dy[0], filter}, attributes)->output());
  if (grad.wants(filter)) {
    attributes.set("filter", ir::Ints(filter->shape().begin(), filter->shape().end() - 2));
    grad.add(filter, grad.emit("conv_filter_grad", {dy[0], x}, attributes)->output());
  }
  if (node.num_inputs() == 3 && grad.wants(node.input(2))) {
    grad.add(node.input(2), grad.emit("channel_sums", {dy[0]})->output());
  }
}

std::vector<AttributeSpec> conv_grad_attributes(std::string extents) {
  auto attributes = conv_attributes();
  attributes.push_back({std::move(extents), ir::Ints{}, {}});
  return attributes;
}

}  // namespace

Windows check_conv(const ir::Node& node) {
  require_rank(node, 0, 4, 5);
  const Shape& x = node.input(0)->shape();
  require_rank(node, 1, x.rank(), x.rank());
  const Shape& filter = node.input(1)->shape();
  require_dtype(node, 0, DType::f32);
  require_dtype(node, 1, DType::f32);
  check_groups(node, x.back(), filter.back());
  const int64_t per_group = x.back() / int_attribute(node, "groups");
  if (filter[filter.rank() - 2] != per_group) {
    throw InvalidArgument(node.label(), ": filter ", filter, " takes ", filter[filter.rank() - 2],
                          " channels, but input ", x, " has ", per_group, " per group");
  }
  if (node.num_inputs() > 2) require_f32_shape(node, 2, {filter.back()});
  check_activation(node);
  return conv_windows(node);
}

OpDef conv_op() {
  return {.name = "conv",
          .inputs = {{"x"},
                     {.name = "filter", .shared = true},
                     {.name = "bias", .optional = true, .shared = true},
                     {.name = "residual", .optional = true}},
          .outputs = {"y"},
          .attributes = with_activation(conv_attributes()),
          .traits = {Trait::takes_post_op, Trait::linear_filter},
          .infer =
              [](const ir::Node& node) {
                const Windows windows = check_conv(node);
                const Shape y = channels_last(node.input(0)->shape()[0], output_extents(windows),
                                              node.input(1)->shape().back());
                if (node.num_inputs() > 3) require_f32_shape(node, 3, y);
                return std::vector{f32(y)};
              },
          .grad = add_conv_gradients,
          .products = Products::convolution};
}

// `input` holds the spatial extents of x, which do not follow from dy and the filter.
OpDef conv_input_grad_op() {
  return {.name = "conv_input_grad",
          .inputs = {{"dy"}, {.name = "filter", .shared = true}},
          .outputs = {"dx"},
          .attributes = conv_grad_attributes("input"),
          .traits = {Trait::no_grad},
          .infer = infer_conv_input_grad,
          .products = Products::convolution};
}

// The filter is [spatial..., out, in]; `output` holds the spatial extents of y, of which a
// convolution with these attributes makes those of x.
OpDef conv_transpose_op() {
  return {.name = "conv_transpose",
          .inputs = {{"x"},
                     {.name = "filter", .shared = true},
                     {.name = "bias", .optional = true, .shared = true}},
          .outputs = {"y"},
          .attributes = with_activation(conv_grad_attributes("output")),
          .traits = {Trait::takes_post_op, Trait::transposed_filter},
          .infer = infer_conv_transpose,
          .grad = add_conv_transpose_gradients,
          .products = Products::convolution};
}

// `kernel` holds the spatial extents of the filter; dbias is present when the bias is trained.
OpDef conv_filter_grad_op() {
  return {.name = "conv_filter_grad",
          .inputs = {{"x"}, {"dy"}},
          .outputs = {"dkernel", "dbias"},
          .optional_outputs = 1,
          .attributes = conv_grad_attributes("filter"),
          .traits = {Trait::batch_sum, Trait::no_grad},
          .infer = infer_conv_filter_grad,
          .products = Products::convolution};
}

}  // namespace pando::ops

// Computes the gradients of a convolution followed by max pooling from the gradient of the pooled
// result. Only the maximum of each window has a gradient, so the gradient of the convolution's own
// result, which is larger and nearly all zeros, is neither written nor multiplied. Only fusion
// creates these ops.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/activation_attribute.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/pool_rules.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

// Checks the inputs dy and index, which are adjacent, and y, which is the last input when there is
// an activation.
void check_pooled(const ir::Node& node, int dy, int64_t batch, int64_t channels) {
  if (const int64_t groups = int_attribute(node, "groups"); groups != 1) {
    throw InvalidArgument(node.label(), ": groups: expected 1, got ", groups);
  }
  check_activation(node);
  const Windows windows = pool_windows(node);
  check_index_fits(node, windows);
  const Shape pooled = channels_last(batch, output_extents(windows), channels);
  require_f32_shape(node, dy, pooled);
  require_dtype(node, dy + 1, DType::u8);
  require_shape(node, dy + 1, pooled);
  const int wanted = text_attribute(node, "activation") == "none" ? 3 : 4;
  if (node.num_inputs() != wanted) {
    throw InvalidArgument(node.label(), ": expected ", wanted, " inputs with activation \"",
                          text_attribute(node, "activation"), "\", got ", node.num_inputs());
  }
  if (wanted == 4) require_f32_shape(node, 3, pooled);
}

std::vector<ir::TensorType> infer_conv_pool_input_grad(const ir::Node& node) {
  require_rank(node, 0, 4, 5);
  const Shape& dy = node.input(0)->shape();
  require_rank(node, 2, dy.rank(), dy.rank());
  require_dtype(node, 2, DType::f32);
  const Shape& filter = node.input(2)->shape();
  check_pooled(node, 0, dy[0], filter.back());
  return {f32(channels_last(dy[0], input_extents(conv_windows(node)), filter[filter.rank() - 2]))};
}

std::vector<ir::TensorType> infer_conv_pool_filter_grad(const ir::Node& node) {
  require_rank(node, 0, 4, 5);
  require_dtype(node, 0, DType::f32);
  const Shape& x = node.input(0)->shape();
  require_rank(node, 1, x.rank(), x.rank());
  const int64_t channels = node.input(1)->shape().back();
  check_pooled(node, 1, x[0], channels);
  std::vector<int64_t> filter = ints_attribute(node, "filter");
  filter.push_back(x.back());
  filter.push_back(channels);
  return {f32(Shape(filter)), f32({channels})};
}

std::vector<AttributeSpec> attributes_with(const char* extents) {
  auto attributes = with_mask(conv_attributes(), {"relu", "leaky_relu"});
  attributes.push_back({"window", ir::Ints{}, {}});
  attributes.push_back({extents, ir::Ints{}, {}});
  return attributes;
}

}  // namespace

OpDef conv_pool_input_grad_op() {
  return {.name = "conv_pool_input_grad",
          .inputs = {{"dy"},
                     {"index"},
                     {.name = "filter", .shared = true},
                     {.name = "y", .optional = true}},
          .outputs = {"dx"},
          .attributes = attributes_with("input"),
          .traits = {Trait::no_grad},
          .infer = infer_conv_pool_input_grad,
          .products = Products::convolution};
}

OpDef conv_pool_filter_grad_op() {
  return {.name = "conv_pool_filter_grad",
          .inputs = {{"x"}, {"dy"}, {"index"}, {.name = "y", .optional = true}},
          .outputs = {"dkernel", "dbias"},
          .optional_outputs = 1,
          .attributes = attributes_with("filter"),
          .traits = {Trait::batch_sum, Trait::no_grad},
          .infer = infer_conv_pool_filter_grad,
          .products = Products::convolution};
}

}  // namespace pando::ops

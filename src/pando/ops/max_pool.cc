// Max pooling. `index` stores the row-major position of the maximum in its window, so that the
// gradient needs neither x nor a comparison. The first of several maxima counts, padding never
// does, and a NaN counts as the maximum.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/activation_attribute.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/pool_rules.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

std::vector<ir::TensorType> infer_max_pool(const ir::Node& node) {
  const Windows windows = check_pool(node);
  check_index_fits(node, windows);
  const Shape& x = node.input(0)->shape();
  const Shape y = channels_last(x[0], output_extents(windows), x.back());
  return {{DType::f32, y}, {DType::u8, y}};
}

std::vector<ir::TensorType> infer_max_pool_grad(const ir::Node& node) {
  const Windows windows = check_pool_grad(node);
  check_index_fits(node, windows);
  check_activation(node);
  const Shape& dy = node.input(0)->shape();
  require_dtype(node, 1, DType::u8);
  require_shape(node, 1, dy);
  const int wanted = text_attribute(node, "activation") == "none" ? 2 : 3;
  if (node.num_inputs() != wanted) {
    throw InvalidArgument(node.label(), ": expected ", wanted, " inputs with activation \"",
                          text_attribute(node, "activation"), "\", got ", node.num_inputs());
  }
  if (wanted == 3) require_f32_shape(node, 2, dy);
  return {f32(channels_last(dy[0], input_extents(windows), dy.back()))};
}

}  // namespace

OpDef max_pool_op() {
  return {.name = "max_pool",
          .inputs = {{"x"}},
          .outputs = {"y", "index"},
          .attributes = pool_attributes(),
          .traits = {Trait::chooses},
          .infer = infer_max_pool,
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            ir::Attributes attributes = node.attributes();
            attributes.set("input", spatial_extents(node.input(0)->shape()));
            grad.add(node.input(0),
                     grad.emit("max_pool_grad", {dy[0], node.output(1)}, attributes)->output());
          }};
}

// With an activation (set by fusion only), dy is first multiplied by its derivative at y.
OpDef max_pool_grad_op() {
  return {.name = "max_pool_grad",
          .inputs = {{"dy"}, {"index"}, {.name = "y", .optional = true}},
          .outputs = {"dx"},
          .attributes = with_mask(pool_grad_attributes(), {"relu", "leaky_relu"}),
          .traits = {Trait::no_grad},
          .infer = infer_max_pool_grad};
}

}  // namespace pando::ops

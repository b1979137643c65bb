// Convolution, bias and activation, then max pooling with adjacent windows that do not overlap.
// Only fusion creates this op: the result of the convolution, which is larger than the pooled one,
// is never written.
// SPDX-License-Identifier: MIT
#include "pando/ops/activation_attribute.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/conv_rules.h"
#include "pando/ops/pool_rules.h"

namespace pando::ops {

OpDef conv_pool_op() {
  auto attributes = with_activation(conv_attributes());
  attributes.push_back({"window", ir::Ints{}, {}});
  return {.name = "conv_pool",
          .inputs = {{"x"},
                     {.name = "filter", .shared = true},
                     {.name = "bias", .optional = true, .shared = true}},
          .outputs = {"y", "index"},
          .attributes = attributes,
          .traits = {Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                check_conv(node);
                const Windows windows = pool_windows(node);
                check_index_fits(node, windows);
                const Shape y = channels_last(node.input(0)->shape()[0], output_extents(windows),
                                              node.input(1)->shape().back());
                return std::vector<ir::TensorType>{{DType::f32, y}, {DType::u8, y}};
              },
          .products = Products::convolution};
}

}  // namespace pando::ops

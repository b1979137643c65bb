// The filter and bias that make a convolution or dense layer compute factor x + offset too:
//   of its result:  folded_filter = factor filter      folded_bias = factor bias + offset
//   of its input:   folded_filter = factor filter      folded_bias = bias + offset (sums of filter)
// The sums are over all elements of the filter that belong to a channel of the result.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef fold_scale_op() {
  return {.name = "fold_scale",
          .inputs = {{"filter"}, {.name = "bias", .optional = true}},
          .outputs = {"folded_filter", "folded_bias"},
          .attributes = {{"factor", 1.0, {}},
                         {"offset", 0.0, {}},
                         {"of", std::string("result"), {"result", "input"}}},
          .traits = {Trait::per_update, Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                require_dtype(node, 0, DType::f32);
                require_rank(node, 0, 2, 5);
                const Shape channels = {node.input(0)->shape().back()};
                if (node.num_inputs() > 1) require_f32_shape(node, 1, channels);
                return std::vector<ir::TensorType>{node.input(0)->type(), f32(channels)};
              },
          // Folded in f32 at every precision, and rounded after that.
          .exact = {"filter", "bias", "folded_filter", "folded_bias"}};
}

}  // namespace pando::ops

// The filter and bias that make a convolution or dense layer compute the batch normalisation that
// follows it. With s = gamma / sqrt(variance + epsilon), one number per channel of the result:
//   folded_filter = s filter      folded_bias = s (bias - mean) + beta
// The channels of the result are the last axis of the filter, or with `transposed` the last but
// one.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef fold_batch_norm_op() {
  return {.name = "fold_batch_norm",
          .inputs = {{"filter"},
                     {"mean"},
                     {"variance"},
                     {"gamma"},
                     {"beta"},
                     {.name = "bias", .optional = true}},
          .outputs = {"folded_filter", "folded_bias"},
          .attributes = {{"epsilon", 0.001, {}}, {"transposed", int64_t{0}, {}}},
          .traits = {Trait::per_update, Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                require_dtype(node, 0, DType::f32);
                require_rank(node, 0, 2, 5);
                const Shape& filter = node.input(0)->shape();
                const bool transposed = int_attribute(node, "transposed") != 0;
                const Shape channels = {filter[filter.rank() - (transposed ? 2 : 1)]};
                for (int i = 1; i < node.num_inputs(); ++i) require_f32_shape(node, i, channels);
                return std::vector<ir::TensorType>{node.input(0)->type(), f32(channels)};
              },
          // Folded in f32 at every precision, and rounded after that.
          .exact = {"filter", "mean", "variance", "gamma", "beta", "bias", "folded_filter",
                    "folded_bias"}};
}

}  // namespace pando::ops

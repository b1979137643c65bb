// The statistics of batch normalisation: each slice of a micro-batch computes moments of its own
// valid samples; combine_moments merges them into the statistics of the micro-batch.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

// `moments` holds the mean of each channel, then the sum of squared deviations from the mean of
// each channel, then the number of values per channel.
OpDef batch_moments_op() {
  return {.name = "batch_moments",
          .inputs = {{"x"}},
          .outputs = {"moments"},
          .traits = {Trait::batch_sum, Trait::moments, Trait::no_grad, Trait::pixelwise},
          .infer =
              [](const ir::Node& node) {
                require_dtype(node, 0, DType::f32);
                require_rank(node, 0, 2, 5);
                return std::vector{f32({2 * node.input(0)->shape().back() + 1})};
              },
          .exact = {"moments"}};
}

// `variance` is the sum of squared deviations / n, `unbiased` is that sum / (n - 1).
OpDef combine_moments_op() {
  return {.name = "combine_moments",
          .inputs = {{"moments"}},
          .outputs = {"mean", "variance", "unbiased"},
          .traits = {Trait::gathers_slices, Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                require_dtype(node, 0, DType::f32);
                require_rank(node, 0, 1, 1);
                const int64_t length = node.input(0)->shape()[0];
                if (length % 2 != 1) {
                  throw InvalidArgument(node.label(),
                                        ": moments: expected two elements per channel and one "
                                        "more, got ",
                                        length, " elements");
                }
                return std::vector<ir::TensorType>(3, f32({(length - 1) / 2}));
              },
          .exact = {"moments", "mean", "variance", "unbiased"}};
}

}  // namespace pando::ops

// The sum of every channel over samples and pixels: the gradient of a bias.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef channel_sums_op() {
  return {.name = "channel_sums",
          .inputs = {{"x"}},
          .outputs = {"sums"},
          .traits = {Trait::batch_sum, Trait::no_grad, Trait::pixelwise},
          .infer = [](const ir::Node& node) {
            require_dtype(node, 0, DType::f32);
            require_rank(node, 0, 2, 5);
            return std::vector{f32({node.input(0)->shape().back()})};
          }};
}

}  // namespace pando::ops

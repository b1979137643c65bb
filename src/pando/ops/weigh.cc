// One number per sample times the sample's weight, or the weight itself: what weighted metrics sum.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/loss_rules.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef weigh_op() {
  return {.name = "weigh",
          .inputs = {{"weight"}, {.name = "value", .optional = true}},
          .outputs = {"weighted"},
          .traits = {Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                require_rank(node, 0, 1, 1);
                require_dtype(node, 0, DType::f32);
                const ir::TensorType& weight = node.input(0)->type();
                if (node.num_inputs() > 1) require_f32_shape(node, 1, weight.shape);
                return std::vector{weight};
              },
          .exact = {"weight", "value", "weighted"}};
}

}  // namespace pando::ops

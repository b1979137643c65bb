// The numbers of each sample times its weight, or the weight itself: what weighted metrics sum.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
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
                if (node.num_inputs() < 2) return std::vector{weight};
                require_rank(node, 1, 1, 2);
                const Shape& value = node.input(1)->shape();
                if (value[0] != weight.shape[0]) {
                  throw InvalidArgument(node.label(), ": expected values of ", weight.shape[0],
                                        " samples, got ", value);
                }
                return std::vector{f32(value)};
              },
          .exact = {"weight", "value", "weighted"}};
}

}  // namespace pando::ops

// The gradient of the training loss with respect to each sample's loss: the step's loss scale, or
// zero for padding.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef loss_seed_op() {
  return {.name = "loss_seed",
          .inputs = {},
          .outputs = {"dloss"},
          .attributes = {{"batch", int64_t{0}, {}}},
          .traits = {Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                const int64_t batch = int_attribute(node, "batch");
                if (batch < 1) {
                  throw InvalidArgument(node.label(), ": batch: expected at least 1, got ", batch);
                }
                return std::vector{f32({batch})};
              },
          .exact = {"dloss"}};
}

}  // namespace pando::ops

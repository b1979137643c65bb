// The loss of a network with several outputs: their losses times their weights, added. Given one
// loss, it multiplies it by its weight.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef sum_losses_op() {
  return {.name = "sum_losses",
          .inputs = {{"a"}, {.name = "b", .optional = true}},
          .outputs = {"sum"},
          .attributes = {{"weight_a", 1.0, {}}, {"weight_b", 1.0, {}}},
          .infer =
              [](const ir::Node& node) {
                require_rank(node, 0, 1, 1);
                require_dtype(node, 0, DType::f32);
                const ir::TensorType& loss = node.input(0)->type();
                if (node.num_inputs() > 1) require_f32_shape(node, 1, loss.shape);
                return std::vector{loss};
              },
          .grad =
              [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
                for (int i = 0; i < node.num_inputs(); ++i) {
                  const double weight = number_attribute(node, i == 0 ? "weight_a" : "weight_b");
                  const ir::Node* part = grad.emit("sum_losses", {dy[0]}, {{"weight_a", weight}});
                  grad.add(node.input(i), part->output());
                }
              },
          .exact = {"a", "b", "sum"}};
}

}  // namespace pando::ops

// The sum of two tensors of the same type.
// SPDX-License-Identifier: MIT
#include "pando/ops/activation_attribute.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef add_op() {
  return {.name = "add",
          .inputs = {{"a"}, {"b"}},
          .outputs = {"y"},
          .attributes = with_activation({}),
          .traits = {Trait::in_place, Trait::pixelwise, Trait::takes_post_op},
          .infer =
              [](const ir::Node& node) {
                check_activation(node);
                return same_f32_as_all_inputs()(node);
              },
          .grad =
              [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
                require_no_activation(node);
                grad.add(node.input(0), dy[0]);
                grad.add(node.input(1), dy[0]);
              }};
}

}  // namespace pando::ops

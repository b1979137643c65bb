// factor x + offset.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef scale_op() {
  return {.name = "scale",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{"factor", 1.0, {}}, {"offset", 0.0, {}}},
          .traits = {Trait::in_place, Trait::pixelwise},
          .infer = same_f32_as_all_inputs(),
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            const ir::Node* dx =
                grad.emit("scale", {dy[0]}, {{"factor", number_attribute(node, "factor")}});
            grad.add(node.input(0), dx->output());
          }};
}

}  // namespace pando::ops

// The product of two tensors of the same type, element by element.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef multiply_op() {
  return {.name = "multiply",
          .inputs = {{"a"}, {"b"}},
          .outputs = {"y"},
          .traits = {Trait::pixelwise},
          .infer = same_f32_as_all_inputs(),
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            for (int i = 0; i < 2; ++i) {
              if (!grad.wants(node.input(i))) continue;
              grad.add(node.input(i), grad.emit("multiply", {dy[0], node.input(1 - i)})->output());
            }
          }};
}

}  // namespace pando::ops

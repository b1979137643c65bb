// A choice between two activations, element by element. Unlike a product with 0 and 1, it drops the
// other operand completely, even infinite numbers.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

// a where the condition is not 0, and b elsewhere; without b it is 0 elsewhere. With `when` fails,
// the other way round.
OpDef select_op() {
  return {.name = "select",
          .inputs = {{"condition"}, {"a"}, {.name = "b", .optional = true}},
          .outputs = {"y"},
          .attributes = {{"when", std::string("holds"), {"holds", "fails"}}},
          .traits = {Trait::in_place, Trait::pixelwise},
          .infer = same_f32_as_all_inputs(),
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            const bool holds = text_attribute(node, "when") == "holds";
            for (int i = 1; i < node.num_inputs(); ++i) {
              if (!grad.wants(node.input(i))) continue;
              const std::string when = holds == (i == 1) ? "holds" : "fails";
              grad.add(node.input(i),
                       grad.emit("select", {node.input(0), dy[0]}, {{"when", when}})->output());
            }
          }};
}

}  // namespace pando::ops

// Sets elements to zero with probability `rate` and scales the others by 1 / (1 - rate). The mask
// is a pure function of the run's seed, the node's key, the sample and the element, so the gradient
// is the same op. `mask` = "channel": all pixels of a channel are kept or dropped together,
// "sample": all elements of a sample.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef dropout_op() {
  return {.name = "dropout",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{"rate", 0.5, {}},
                         {"key", int64_t{0}, {}},
                         {"mask", std::string("element"), {"element", "channel", "sample"}}},
          .traits = {Trait::in_place},
          .infer =
              [](const ir::Node& node) {
                const double rate = number_attribute(node, "rate");
                if (!(rate >= 0 && rate < 1)) {
                  throw InvalidArgument(node.label(),
                                        ": rate: expected 0 or more and below 1, got ", rate);
                }
                require_rank(node, 0, 1, 5);
                return same_f32_as_all_inputs()(node);
              },
          .grad =
              [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
                grad.add(node.input(0), grad.emit("dropout", {dy[0]}, node.attributes())->output());
              }};
}

}  // namespace pando::ops

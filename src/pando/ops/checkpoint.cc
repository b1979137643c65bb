// Passes its input on unchanged. Marks an activation from which recomputation may start.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"

namespace pando::ops {

OpDef checkpoint_op() {
  return {.name = "checkpoint",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {},
          .traits = {Trait::view},
          .infer = [](const ir::Node& node) { return std::vector{node.input(0)->type()}; },
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy,
                     GradBuilder& grad) { grad.add(node.input(0), dy[0]); }};
}

}  // namespace pando::ops

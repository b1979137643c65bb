// Average pooling; padding is not counted.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/pool_rules.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef avg_pool_op() {
  return {.name = "avg_pool",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = pool_attributes(),
          .infer =
              [](const ir::Node& node) {
                const Windows windows = check_pool(node);
                const Shape& x = node.input(0)->shape();
                return std::vector{f32(channels_last(x[0], output_extents(windows), x.back()))};
              },
          .grad =
              [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
                ir::Attributes attributes = node.attributes();
                attributes.set("input", spatial_extents(node.input(0)->shape()));
                grad.add(node.input(0), grad.emit("avg_pool_grad", {dy[0]}, attributes)->output());
              }};
}

OpDef avg_pool_grad_op() {
  return {.name = "avg_pool_grad",
          .inputs = {{"dy"}},
          .outputs = {"dx"},
          .attributes = pool_grad_attributes(),
          .traits = {Trait::no_grad},
          .infer = [](const ir::Node& node) {
            const Windows windows = check_pool_grad(node);
            const Shape& dy = node.input(0)->shape();
            return std::vector{f32(channels_last(dy[0], input_extents(windows), dy.back()))};
          }};
}

}  // namespace pando::ops

// The mean over all spatial axes.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"
#include "pando/ops/window.h"

namespace pando::ops {

namespace {

void require_extents(const ir::Node& node, const ir::Ints& extents) {
  for (const int64_t extent : extents) {
    if (extent < 1) {
      throw InvalidArgument(node.label(), ": spatial extents ", ir::to_text(extents),
                            " must be positive");
    }
  }
}

}  // namespace

OpDef global_avg_pool_op() {
  return {.name = "global_avg_pool",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .infer =
              [](const ir::Node& node) {
                require_dtype(node, 0, DType::f32);
                require_rank(node, 0, 3, 5);
                const Shape& x = node.input(0)->shape();
                require_extents(node, spatial_extents(x));
                return std::vector{f32({x[0], x.back()})};
              },
          .grad =
              [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
                const ir::Node* dx =
                    grad.emit("global_avg_pool_grad", {dy[0]},
                              {{"input", spatial_extents(node.input(0)->shape())}});
                grad.add(node.input(0), dx->output());
              }};
}

OpDef global_avg_pool_grad_op() {
  return {.name = "global_avg_pool_grad",
          .inputs = {{"dy"}},
          .outputs = {"dx"},
          .attributes = {{"input", ir::Ints{}, {}}},
          .traits = {Trait::no_grad},
          .infer = [](const ir::Node& node) {
            require_dtype(node, 0, DType::f32);
            require_rank(node, 0, 2, 2);
            const ir::Ints extents = ints_attribute(node, "input");
            require_extents(node, extents);
            const Shape& dy = node.input(0)->shape();
            return std::vector{f32(channels_last(dy[0], extents, dy[1]))};
          }};
}

}  // namespace pando::ops

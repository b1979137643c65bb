// The maximum over all spatial axes. `index` stores the row-major position of the maximum, which
// the gradient reads. The first of several maxima counts, and a NaN counts as the maximum.
// SPDX-License-Identifier: MIT
#include <limits>

#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"
#include "pando/ops/window.h"

namespace pando::ops {

namespace {

// Checks that a sample has pixels and that their numbers fit into the index.
void require_pixels(const ir::Node& node, const ir::Ints& extents) {
  double pixels = 1;
  for (const int64_t extent : extents) {
    pixels *= static_cast<double>(extent);
    if (extent >= 1 && pixels <= std::numeric_limits<int32_t>::max()) continue;
    throw InvalidArgument(node.label(), ": expected 1 to 2^31 - 1 pixels, got spatial extents ",
                          ir::to_text(extents));
  }
}

}  // namespace

OpDef global_max_pool_op() {
  return {.name = "global_max_pool",
          .inputs = {{"x"}},
          .outputs = {"y", "index"},
          .traits = {Trait::chooses},
          .infer =
              [](const ir::Node& node) {
                require_dtype(node, 0, DType::f32);
                require_rank(node, 0, 3, 5);
                const Shape& x = node.input(0)->shape();
                require_pixels(node, spatial_extents(x));
                const Shape y = {x[0], x.back()};
                return std::vector<ir::TensorType>{{DType::f32, y}, {DType::i32, y}};
              },
          .grad =
              [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
                const ir::Node* dx =
                    grad.emit("global_max_pool_grad", {dy[0], node.output(1)},
                              {{"input", spatial_extents(node.input(0)->shape())}});
                grad.add(node.input(0), dx->output());
              }};
}

OpDef global_max_pool_grad_op() {
  return {.name = "global_max_pool_grad",
          .inputs = {{"dy"}, {"index"}},
          .outputs = {"dx"},
          .attributes = {{"input", ir::Ints{}, {}}},
          .traits = {Trait::no_grad},
          .infer = [](const ir::Node& node) {
            require_dtype(node, 0, DType::f32);
            require_rank(node, 0, 2, 2);
            const Shape& dy = node.input(0)->shape();
            require_dtype(node, 1, DType::i32);
            require_shape(node, 1, dy);
            const ir::Ints extents = ints_attribute(node, "input");
            require_pixels(node, extents);
            return std::vector{f32(channels_last(dy[0], extents, dy[1]))};
          }};
}

}  // namespace pando::ops

// Gives every sample the elements of a weight, so that ops of activations can take a weight of any
// shape: position encodings, masks, tables.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

// y[n] = weight. Only the batch of `like` matters.
OpDef spread_op() {
  return {.name = "spread",
          .inputs = {{"like"}, {.name = "weight", .shared = true}},
          .outputs = {"y"},
          .infer =
              [](const ir::Node& node) {
                require_rank(node, 0, 1, 5);
                require_dtype(node, 1, DType::f32);
                require_rank(node, 1, 0, 4);
                std::vector<int64_t> dims = {node.input(0)->shape()[0]};
                const Shape& weight = node.input(1)->shape();
                dims.insert(dims.end(), weight.begin(), weight.end());
                return std::vector{f32(Shape(dims))};
              },
          .grad =
              [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
                if (!grad.wants(node.input(1))) return;
                grad.add(node.input(1), grad.emit("spread_sums", {dy[0]})->output());
              }};
}

// The gradient of the weight: the sum of dy over the samples.
OpDef spread_sums_op() {
  return {.name = "spread_sums",
          .inputs = {{"dy"}},
          .outputs = {"dweight"},
          .traits = {Trait::batch_sum, Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                require_dtype(node, 0, DType::f32);
                require_rank(node, 0, 1, 5);
                const Shape& dy = node.input(0)->shape();
                return std::vector{f32(Shape(std::vector<int64_t>(dy.begin() + 1, dy.end())))};
              },
          .exact = {"dweight"}};
}

}  // namespace pando::ops

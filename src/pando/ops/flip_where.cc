// Mirrors an image left to right if the flag of its sample is not zero. The flag comes with the
// data: the data pipeline decides which images to mirror, and the device moves the pixels. Without
// flags, every image is mirrored.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/pixel_rules.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef flip_where_op() {
  return {.name = "flip_where",
          .inputs = {{"x"}, {.name = "flip", .optional = true}},
          .outputs = {"y"},
          .infer =
              [](const ir::Node& node) {
                require_pixels(node);
                if (node.inputs().size() > 1) {
                  require_dtype(node, 1, DType::u8);
                  require_shape(node, 1, {node.input(0)->shape().front()});
                }
                return std::vector<ir::TensorType>{node.input(0)->type()};
              },
          .grad =
              [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
                if (node.input(0)->type().dtype != DType::f32) return;
                std::vector<ir::Value*> inputs = {dy[0]};
                if (node.inputs().size() > 1) inputs.push_back(node.input(1));
                grad.add(node.input(0), grad.emit("flip_where", inputs, {})->output());
              },
          .exact = {"flip"}};
}

}  // namespace pando::ops

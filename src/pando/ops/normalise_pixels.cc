// y = x * scale + shift for each channel of x, which holds u8 or f32. Channels that x does not have
// become zeros.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/pixel_rules.h"

namespace pando::ops {

namespace {

void require_one_per_channel(const ir::Node& node, std::string_view attribute) {
  const ir::Numbers numbers = numbers_attribute(node, attribute);
  const int64_t channels = node.input(0)->shape().back();
  if (static_cast<int64_t>(numbers.size()) == channels) return;
  throw InvalidArgument(node.label(), ": ", attribute, ": expected ", channels,
                        " items, one per channel, got ", ir::to_text(numbers));
}

void add_gradient(const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
  ir::Value* x = node.input(0);
  if (x->type().dtype != DType::f32 || !grad.wants(x)) return;
  ir::Value* part = dy[0];
  if (part->shape() != x->shape()) {
    part = grad.emit("slice", {part}, {{"begin", ir::Ints(4, 0)}, {"size", x->shape().dims()}})
               ->output();
  }
  const ir::Numbers scale = numbers_attribute(node, "scale");
  const ir::Numbers zeros(scale.size(), 0.0);
  grad.add(x,
           grad.emit("normalise_pixels", {part}, {{"scale", scale}, {"shift", zeros}})->output());
}

}  // namespace

OpDef normalise_pixels_op() {
  return {.name = "normalise_pixels",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{"scale", ir::Numbers{}, {}},
                         {"shift", ir::Numbers{}, {}},
                         {"channels", int64_t{0}, {}}},
          .infer =
              [](const ir::Node& node) {
                const ir::TensorType type = pixel_numbers(node);
                require_one_per_channel(node, "scale");
                require_one_per_channel(node, "shift");
                return std::vector<ir::TensorType>{type};
              },
          .grad = add_gradient};
}

}  // namespace pando::ops

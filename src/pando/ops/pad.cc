// Adds zeros before and after the elements of every axis except the batch.
// SPDX-License-Identifier: MIT
#include "pando/base/checked.h"
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

std::vector<ir::TensorType> infer_pad(const ir::Node& node) {
  require_dtype(node, 0, DType::f32);
  require_rank(node, 0, 1, 5);
  Shape shape = node.input(0)->shape();
  for (const char* name : {"low", "high"}) {
    require_length(node, name, static_cast<size_t>(shape.rank()));
    const ir::Ints pads = ints_attribute(node, name);
    if (pads[0] != 0) {
      throw InvalidArgument(node.label(), ": ", name, " ", ir::to_text(pads),
                            " pads the batch axis; its first item must be 0");
    }
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const int64_t pad = pads[static_cast<size_t>(axis)];
      if (pad < 0) {
        throw InvalidArgument(node.label(), ": ", name, " ", ir::to_text(pads),
                              " must not be negative");
      }
      const std::optional<int64_t> sum = sum_of({shape[axis], pad});
      if (!sum) {
        throw InvalidArgument(node.label(), ": ", name, " ", ir::to_text(pads), " is too large");
      }
      shape[axis] = *sum;
    }
  }
  return {f32(shape)};
}

}  // namespace

OpDef pad_op() {
  return {.name = "pad",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{"low", ir::Ints{}, {}}, {"high", ir::Ints{}, {}}},
          .infer = infer_pad,
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            const ir::Node* dx = grad.emit(
                "slice", {dy[0]},
                {{"begin", ints_attribute(node, "low")}, {"size", node.input(0)->shape().dims()}});
            grad.add(node.input(0), dx->output());
          }};
}

}  // namespace pando::ops

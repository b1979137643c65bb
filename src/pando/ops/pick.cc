// Picks elements along one axis of a sample by fixed numbers: y[.., i, ..] = x[.., indices[i], ..].
// An element may be picked often: repetition, reversal and reflection are such choices too.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

int checked_axis(const ir::Node& node, const Shape& x) {
  const int64_t axis = int_attribute(node, "axis");
  if (axis < 1 || axis >= x.rank()) {
    throw InvalidArgument(node.label(), ": axis: expected 1 to ", x.rank() - 1, ", got ", axis);
  }
  return static_cast<int>(axis);
}

void check_indices(const ir::Node& node, int64_t extent) {
  const ir::Ints indices = ints_attribute(node, "indices");
  if (indices.empty()) throw InvalidArgument(node.label(), ": indices: expected at least one");
  for (const int64_t index : indices) {
    if (index < 0 || index >= extent) {
      throw InvalidArgument(node.label(), ": indices: expected 0 to ", extent - 1, ", got ", index);
    }
  }
}

std::vector<ir::TensorType> infer_pick(const ir::Node& node) {
  require_dtype(node, 0, DType::f32);
  require_rank(node, 0, 2, 5);
  Shape y = node.input(0)->shape();
  const int axis = checked_axis(node, y);
  check_indices(node, y[axis]);
  y[axis] = std::ssize(ints_attribute(node, "indices"));
  return {f32(y)};
}

std::vector<ir::TensorType> infer_pick_grad(const ir::Node& node) {
  require_dtype(node, 0, DType::f32);
  require_rank(node, 0, 2, 5);
  Shape x = node.input(0)->shape();
  const int axis = checked_axis(node, x);
  require_length(node, "indices", static_cast<size_t>(x[axis]));
  x[axis] = int_attribute(node, "extent");
  check_indices(node, x[axis]);
  return {f32(x)};
}

}  // namespace

OpDef pick_op() {
  return {.name = "pick",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{"axis", int64_t{1}}, {"indices", ir::Ints{}}},
          .infer = infer_pick,
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            const auto axis = int_attribute(node, "axis");
            const ir::Node* dx =
                grad.emit("pick_grad", {dy[0]},
                          {{"axis", axis},
                           {"indices", ints_attribute(node, "indices")},
                           {"extent", node.input(0)->shape()[static_cast<int>(axis)]}});
            grad.add(node.input(0), dx->output());
          }};
}

// Adds each element of dy to the one it was picked from; `extent` is that of x along the axis.
OpDef pick_grad_op() {
  return {.name = "pick_grad",
          .inputs = {{"dy"}},
          .outputs = {"dx"},
          .attributes = {{"axis", int64_t{1}}, {"indices", ir::Ints{}}, {"extent", int64_t{0}}},
          .traits = {Trait::no_grad},
          .infer = infer_pick_grad};
}

}  // namespace pando::ops

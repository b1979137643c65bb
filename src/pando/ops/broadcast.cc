// SPDX-License-Identifier: MIT
#include "pando/ops/broadcast.h"

#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

// The extent of `axis` of a result with `rank` axes; axes that the operand lacks count as 1.
int64_t aligned_extent(const Shape& shape, int axis, int rank) {
  if (axis == 0) return shape[0];
  const int own = axis - (rank - shape.rank());
  return own < 1 ? 1 : shape[own];
}

std::vector<ir::TensorType> infer_expand(const ir::Node& node) {
  require_dtype(node, 0, DType::f32);
  require_rank(node, 0, 1, 5);
  const Shape& x = node.input(0)->shape();
  const Shape shape(ints_attribute(node, "shape"));
  bool fits = shape.rank() >= x.rank() && shape.rank() <= 5 && shape[0] == x[0];
  for (int axis = 1; fits && axis < shape.rank(); ++axis) {
    const int64_t extent = aligned_extent(x, axis, shape.rank());
    fits = extent == shape[axis] || extent == 1;
  }
  if (!fits) throw InvalidArgument(node.label(), ": cannot repeat ", x, " to ", shape);
  return {f32(shape)};
}

}  // namespace

Shape broadcast_shape(const ir::Node& node, int a, int b) {
  for (const int input : {a, b}) {
    require_dtype(node, input, DType::f32);
    require_rank(node, input, 1, 5);
  }
  const Shape& first = node.input(a)->shape();
  const Shape& second = node.input(b)->shape();
  const int rank = std::max(first.rank(), second.rank());
  std::vector<int64_t> dims;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t x = aligned_extent(first, axis, rank);
    const int64_t y = aligned_extent(second, axis, rank);
    const bool repeats = axis > 0 && (x == 1 || y == 1);
    if (x != y && !repeats) {
      throw InvalidArgument(node.label(),
                            ": expected the same shape, or samples with extents of 1 "
                            "that can be repeated, got ",
                            first, " and ", second);
    }
    dims.push_back(x == 1 ? y : x);
  }
  return Shape(dims);
}

InferRule broadcast_f32() {
  return [](const ir::Node& node) { return std::vector{f32(broadcast_shape(node, 0, 1))}; };
}

void add_reduced(GradBuilder& grad, ir::Value* value, ir::Value* gradient, ir::Value* factor) {
  if (!grad.wants(value)) return;
  const Shape& own = value->shape();
  const Shape& whole = gradient->shape();
  if (factor != nullptr && (own == whole || factor->shape() != whole)) {
    gradient = grad.emit("multiply", {gradient, factor})->output();
    factor = nullptr;
  }
  if (own == whole) return grad.add(value, gradient);
  ir::Ints axes;
  for (int axis = 1; axis < whole.rank(); ++axis) {
    if (whole[axis] > aligned_extent(own, axis, whole.rank())) axes.push_back(axis);
  }
  std::vector<ir::Value*> inputs = {gradient};
  if (factor != nullptr) inputs.push_back(factor);
  if (!axes.empty()) {
    gradient =
        grad.emit("reduce_sum", inputs, {{"axes", axes}, {"keepdims", int64_t{1}}})->output();
  }
  if (gradient->shape() != own) {
    gradient = grad.emit("reshape", {gradient}, {{"shape", ir::Ints(own.begin() + 1, own.end())}})
                   ->output();
  }
  grad.add(value, gradient);
}

// Repeats x along axes of extent 1 up to `shape`.
OpDef expand_op() {
  return {.name = "expand",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{.name = "shape", .fallback = ir::Ints{}, .holds_batch = true}},
          .infer = infer_expand,
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            add_reduced(grad, node.input(0), dy[0]);
          }};
}

}  // namespace pando::ops

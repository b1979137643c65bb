// Cuts a box out of a tensor, with strides: y[i] = x[begin + i * strides] for i below size. The
// batch axis is never cut.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

// Checks that a box of `size` lies in a tensor of `shape`, for slice and its gradient.
void check_box(const ir::Node& node, const Shape& shape, const Shape& size) {
  const auto rank = static_cast<size_t>(shape.rank());
  require_length(node, "begin", rank);
  const ir::Ints begin = ints_attribute(node, "begin");
  ir::Ints strides = ints_attribute(node, "strides");
  if (strides.empty()) strides.assign(rank, 1);
  if (strides.size() != rank) require_length(node, "strides", rank);
  if (size[0] != shape[0] || begin[0] != 0 || strides[0] != 1) {
    throw InvalidArgument(node.label(), ": cannot cut the batch axis of ", shape);
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const int64_t last = begin[i] + (size[axis] - 1) * strides[i];
    if (begin[i] < 0 || size[axis] < 1 || strides[i] < 1 || last >= shape[axis]) {
      throw InvalidArgument(node.label(), ": begin ", ir::to_text(begin), ", size ", size,
                            " and strides ", ir::to_text(strides), " exceed the shape ", shape);
    }
  }
}

std::vector<ir::TensorType> infer_slice(const ir::Node& node) {
  require_dtype(node, 0, DType::f32);
  require_rank(node, 0, 1, 5);
  const Shape& x = node.input(0)->shape();
  require_length(node, "size", static_cast<size_t>(x.rank()));
  const Shape size(ints_attribute(node, "size"));
  check_box(node, x, size);
  return {f32(size)};
}

std::vector<ir::TensorType> infer_slice_grad(const ir::Node& node) {
  require_dtype(node, 0, DType::f32);
  require_rank(node, 0, 1, 5);
  const Shape& dy = node.input(0)->shape();
  require_length(node, "shape", static_cast<size_t>(dy.rank()));
  const Shape shape(ints_attribute(node, "shape"));
  check_box(node, shape, dy);
  return {f32(shape)};
}

}  // namespace

OpDef slice_op() {
  return {.name = "slice",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{"begin", ir::Ints{}, {}},
                         {.name = "size", .fallback = ir::Ints{}, .holds_batch = true},
                         {"strides", ir::Ints{}, {}}},
          .infer = infer_slice,
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            const ir::Node* dx = grad.emit("slice_grad", {dy[0]},
                                           {{"begin", ints_attribute(node, "begin")},
                                            {"strides", ints_attribute(node, "strides")},
                                            {"shape", node.input(0)->shape().dims()}});
            grad.add(node.input(0), dx->output());
          }};
}

// Puts dy into the box that slice cut out, with zeros elsewhere; `shape` is the shape of x.
OpDef slice_grad_op() {
  return {.name = "slice_grad",
          .inputs = {{"dy"}},
          .outputs = {"dx"},
          .attributes = {{"begin", ir::Ints{}, {}},
                         {"strides", ir::Ints{}, {}},
                         {.name = "shape", .fallback = ir::Ints{}, .holds_batch = true}},
          .traits = {Trait::no_grad},
          .infer = infer_slice_grad};
}

}  // namespace pando::ops

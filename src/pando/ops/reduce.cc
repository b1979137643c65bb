// Reductions over axes of a sample: sum, mean, maximum, minimum. `axes` are counted with the batch,
// which is never reduced; with keepdims = 1 they stay, with an extent of 1.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

// The shape of x with an extent of 1 in place of each reduced axis.
Shape reduced_shape(const ir::Node& node, const Shape& x) {
  Shape shape = x;
  const ir::Ints axes = ints_attribute(node, "axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 1 || axes[i] >= x.rank() || (i > 0 && axes[i] <= axes[i - 1])) {
      throw InvalidArgument(node.label(), ": axes: expected numbers from 1 to ", x.rank() - 1,
                            " in rising order, got ", ir::to_text(axes));
    }
    shape[static_cast<int>(axes[i])] = 1;
  }
  if (x.elements_from(1) < 1) {
    throw InvalidArgument(node.label(), ": expected elements to reduce, got shape ", x);
  }
  return shape;
}

std::vector<ir::TensorType> infer_reduction(const ir::Node& node) {
  require_dtype(node, 0, DType::f32);
  require_rank(node, 0, 1, 5);
  const Shape& x = node.input(0)->shape();
  if (node.num_inputs() > 1) require_f32_shape(node, 1, x);
  const Shape kept = reduced_shape(node, x);
  const int64_t keepdims = int_attribute(node, "keepdims");
  if (keepdims != 0 && keepdims != 1) {
    throw InvalidArgument(node.label(), ": keepdims: expected 0 or 1, got ", keepdims);
  }
  if (keepdims == 1) return {f32(kept)};
  const ir::Ints axes = ints_attribute(node, "axes");
  std::vector<int64_t> dims;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) dims.push_back(x[axis]);
  }
  return {f32(Shape(dims))};
}

// `value` with the reduced axes as axes of extent 1.
ir::Value* with_kept_axes(const ir::Node& node, ir::Value* value, GradBuilder& grad) {
  const Shape kept = reduced_shape(node, node.input(0)->shape());
  if (value->shape() == kept) return value;
  return grad.emit("reshape", {value}, {{"shape", ir::Ints(kept.begin() + 1, kept.end())}})
      ->output();
}

// `dy` of a sum, repeated along the reduced axes.
ir::Value* expanded(const ir::Node& node, ir::Value* dy, GradBuilder& grad) {
  const Shape& x = node.input(0)->shape();
  ir::Value* kept = with_kept_axes(node, dy, grad);
  return kept->shape() == x ? kept : grad.emit("expand", {kept}, {{"shape", x.dims()}})->output();
}

void add_sum_gradients(const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
  const bool products = node.num_inputs() > 1;
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (!grad.wants(node.input(i))) continue;
    ir::Value* kept = with_kept_axes(node, dy[0], grad);
    grad.add(node.input(i), products ? grad.emit("multiply", {node.input(1 - i), kept})->output()
                                     : expanded(node, dy[0], grad));
  }
}

void add_mean_gradients(const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
  const auto count = static_cast<double>(node.input(0)->shape().elements()) /
                     static_cast<double>(node.output()->shape().elements());
  ir::Value* share = grad.emit("scale", {dy[0]}, {{"factor", 1 / count}})->output();
  grad.add(node.input(0), expanded(node, share, grad));
}

void add_extreme_gradients(const ir::Node& node, std::span<ir::Value* const> dy,
                           GradBuilder& grad) {
  ir::Value* x = node.input(0);
  grad.add(x, grad.emit("reduce_extreme_grad",
                        {with_kept_axes(node, dy[0], grad), x,
                         with_kept_axes(node, node.output(), grad)},
                        {{"axes", ints_attribute(node, "axes")}})
                  ->output());
}

OpDef reduction(std::string name, GradRule grad) {
  return {.name = std::move(name),
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{"axes", ir::Ints{}}, {"keepdims", int64_t{0}}},
          .infer = infer_reduction,
          .grad = std::move(grad)};
}

}  // namespace

// With a factor of the shape of x, the sum of the products.
OpDef reduce_sum_op() {
  OpDef op = reduction("reduce_sum", add_sum_gradients);
  op.inputs.push_back({.name = "factor", .optional = true});
  return op;
}
OpDef reduce_mean_op() { return reduction("reduce_mean", add_mean_gradients); }
OpDef reduce_max_op() { return reduction("reduce_max", add_extreme_gradients); }
OpDef reduce_min_op() { return reduction("reduce_min", add_extreme_gradients); }

// Divides dy equally among the elements of x that equal the extreme y. dy and y have an extent of 1
// at the reduced axes.
OpDef reduce_extreme_grad_op() {
  return {.name = "reduce_extreme_grad",
          .inputs = {{"dy"}, {"x"}, {"y"}},
          .outputs = {"dx"},
          .attributes = {{"axes", ir::Ints{}}},
          .traits = {Trait::no_grad},
          .infer = [](const ir::Node& node) {
            require_dtype(node, 1, DType::f32);
            require_rank(node, 1, 1, 5);
            const Shape kept = reduced_shape(node, node.input(1)->shape());
            require_f32_shape(node, 0, kept);
            require_f32_shape(node, 2, kept);
            return std::vector{node.input(1)->type()};
          }};
}

}  // namespace pando::ops

// Concatenates tensors along one axis other than the batch.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

std::vector<ir::TensorType> infer_concat(const ir::Node& node) {
  require_rank(node, 0, 2, 5);
  Shape shape = node.input(0)->shape();
  const int64_t given = int_attribute(node, "axis");
  if (given < 1 || given >= shape.rank()) {
    throw InvalidArgument(node.label(), ": axis: expected 1 to ", shape.rank() - 1, ", got ",
                          given);
  }
  const int axis = static_cast<int>(given);
  shape[axis] = 0;
  for (int i = 0; i < node.num_inputs(); ++i) {
    require_rank(node, i, shape.rank(), shape.rank());
    Shape wanted = node.input(0)->shape();
    wanted[axis] = node.input(i)->shape()[axis];
    require_f32_shape(node, i, wanted);
    shape[axis] += wanted[axis];
  }
  return {f32(shape)};
}

void add_concat_gradients(const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
  const auto axis = static_cast<size_t>(int_attribute(node, "axis"));
  ir::Ints begin(static_cast<size_t>(node.output()->shape().rank()), 0);
  for (ir::Value* x : node.inputs()) {
    const ir::Ints size = x->shape().dims();
    if (grad.wants(x)) {
      grad.add(x, grad.emit("slice", {dy[0]}, {{"begin", begin}, {"size", size}})->output());
    }
    begin[axis] += size[axis];
  }
}

}  // namespace

OpDef concat_op() {
  return {.name = "concat",
          .inputs = {{.name = "x", .variadic = true}},
          .outputs = {"y"},
          .attributes = {{"axis", int64_t{1}, {}}},
          .infer = infer_concat,
          .grad = add_concat_gradients};
}

}  // namespace pando::ops

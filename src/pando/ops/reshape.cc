// Gives the same elements another shape; `shape` does not include the batch axis. Flattening is a
// reshape.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

std::vector<ir::TensorType> infer_reshape(const ir::Node& node) {
  require_rank(node, 0, 1, 5);
  const ir::TensorType& x = node.input(0)->type();
  std::vector<int64_t> dims = ints_attribute(node, "shape");
  dims.insert(dims.begin(), x.shape[0]);
  const Shape shape(dims);
  for (const int64_t extent : dims) {
    if (extent < 0) {
      throw InvalidArgument(node.label(), ": shape ", shape, " has a negative extent");
    }
  }
  if (shape.elements_from(1) != x.shape.elements_from(1)) {
    throw InvalidArgument(node.label(), ": cannot reshape ", x.shape, " to ", shape, ": expected ",
                          x.shape.elements_from(1), " elements per sample, got ",
                          shape.elements_from(1));
  }
  return {{x.dtype, shape}};
}

}  // namespace

OpDef reshape_op() {
  return {.name = "reshape",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{"shape", ir::Ints{}, {}}},
          .traits = {Trait::view},
          .infer = infer_reshape,
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            const Shape& x = node.input(0)->shape();
            const ir::Node* dx =
                grad.emit("reshape", {dy[0]}, {{"shape", ir::Ints(x.begin() + 1, x.end())}});
            grad.add(node.input(0), dx->output());
          }};
}

}  // namespace pando::ops

// Axis i of the result is axis perm[i] of x; the batch stays first.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

std::vector<ir::TensorType> infer_transpose(const ir::Node& node) {
  require_dtype(node, 0, DType::f32);
  require_rank(node, 0, 1, 5);
  const Shape& x = node.input(0)->shape();
  const ir::Ints perm = ints_attribute(node, "perm");
  ir::Ints sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool fits = sorted.size() == static_cast<size_t>(x.rank()) && perm[0] == 0;
  for (size_t i = 0; fits && i < sorted.size(); ++i) fits = sorted[i] == static_cast<int64_t>(i);
  if (!fits) {
    throw InvalidArgument(node.label(), ": perm: expected 0 and then the numbers 1 to ",
                          x.rank() - 1, " in any order, got ", ir::to_text(perm));
  }
  std::vector<int64_t> dims;
  for (const int64_t axis : perm) dims.push_back(x[static_cast<int>(axis)]);
  return {f32(Shape(dims))};
}

}  // namespace

OpDef transpose_op() {
  return {.name = "transpose",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{"perm", ir::Ints{}}},
          .infer = infer_transpose,
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
            const ir::Ints perm = ints_attribute(node, "perm");
            ir::Ints back(perm.size());
            for (size_t i = 0; i < perm.size(); ++i) {
              back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
            }
            grad.add(node.input(0), grad.emit("transpose", {dy[0]}, {{"perm", back}})->output());
          }};
}

}  // namespace pando::ops

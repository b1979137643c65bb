// The product of two activations: the last two axes are matrices, of which each may be transposed;
// all axes before them are the same in both.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

namespace {

bool transposes(const ir::Node& node, const char* name) {
  const int64_t value = int_attribute(node, name);
  if (value != 0 && value != 1) {
    throw InvalidArgument(node.label(), ": ", name, ": expected 0 or 1, got ", value);
  }
  return value == 1;
}

std::vector<ir::TensorType> infer_matmul(const ir::Node& node) {
  for (const int input : {0, 1}) {
    require_dtype(node, input, DType::f32);
    require_rank(node, input, 3, 5);
  }
  const Shape& a = node.input(0)->shape();
  const Shape& b = node.input(1)->shape();
  const int rank = a.rank();
  const bool ta = transposes(node, "transpose_a");
  const bool tb = transposes(node, "transpose_b");
  bool fits = rank == b.rank() && a[ta ? rank - 2 : rank - 1] == b[tb ? rank - 1 : rank - 2];
  for (int axis = 0; fits && axis < rank - 2; ++axis) fits = a[axis] == b[axis];
  if (!fits) {
    throw InvalidArgument(node.label(), ": cannot multiply ", a, ta ? " (transposed)" : "", " by ",
                          b, tb ? " (transposed)" : "",
                          ": expected equal axes before the matrices, and as many columns in the "
                          "first as rows in the second");
  }
  Shape y = a;
  y[rank - 2] = a[ta ? rank - 1 : rank - 2];
  y[rank - 1] = b[tb ? rank - 2 : rank - 1];
  return {f32(y)};
}

ir::Attributes flags(bool ta, bool tb) {
  return {{"transpose_a", int64_t{ta ? 1 : 0}}, {"transpose_b", int64_t{tb ? 1 : 0}}};
}

void add_matmul_gradients(const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
  ir::Value* a = node.input(0);
  ir::Value* b = node.input(1);
  const bool ta = transposes(node, "transpose_a");
  const bool tb = transposes(node, "transpose_b");
  if (grad.wants(a)) {
    grad.add(a, (ta ? grad.emit("matmul", {b, dy[0]}, flags(tb, true))
                    : grad.emit("matmul", {dy[0], b}, flags(false, !tb)))
                    ->output());
  }
  if (grad.wants(b)) {
    grad.add(b, (tb ? grad.emit("matmul", {dy[0], a}, flags(true, ta))
                    : grad.emit("matmul", {a, dy[0]}, flags(!ta, false)))
                    ->output());
  }
}

}  // namespace

OpDef matmul_op() {
  return {.name = "matmul",
          .inputs = {{"a"}, {"b"}},
          .outputs = {"y"},
          .attributes = {{"transpose_a", int64_t{0}}, {"transpose_b", int64_t{0}}},
          .infer = infer_matmul,
          .grad = add_matmul_gradients,
          .products = Products::matrix};
}

}  // namespace pando::ops

// Converts between element types. Gradients flow between floating point types only.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/tensor/dtype.h"

namespace pando::ops {

namespace {

bool is_float(const ir::Value* value) {
  const DType dtype = value->type().dtype;
  return dtype != DType::u8 && dtype != DType::i32;
}

}  // namespace

OpDef cast_op() {
  return {.name = "cast",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{"dtype", std::string("f32"), {"f32", "f16", "bf16", "u8", "i32"}}},
          .infer =
              [](const ir::Node& node) {
                return std::vector<ir::TensorType>{
                    {parse_dtype(text_attribute(node, "dtype")), node.input(0)->shape()}};
              },
          .grad =
              [](const ir::Node& node, std::span<ir::Value* const> dy, GradBuilder& grad) {
                ir::Value* x = node.input(0);
                if (!is_float(x) || !is_float(node.output())) return;
                const std::string dtype(to_string(x->type().dtype));
                grad.add(x, grad.emit("cast", {dy[0]}, {{"dtype", dtype}})->output());
              }};
}

}  // namespace pando::ops

// Converts a variable, or what was computed from variables alone, to another type, once per weight
// update. Training in half precision with f32 weights gives kernels this copy to read.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"

namespace pando::ops {

OpDef round_variable_op() {
  return {.name = "round_variable",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{"dtype", std::string("f16"), {"f16", "bf16", "f32"}}},
          .traits = {Trait::per_update, Trait::no_grad},
          .infer = [](const ir::Node& node) {
            return std::vector<ir::TensorType>{
                {parse_dtype(text_attribute(node, "dtype")), node.input(0)->shape()}};
          }};
}

}  // namespace pando::ops

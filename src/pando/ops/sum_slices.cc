// Adds the batch sums of all slices of the micro-batch, in slice order.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef sum_slices_op() {
  return {.name = "sum_slices",
          .inputs = {{"a"}},
          .outputs = {"total"},
          .traits = {Trait::gathers_slices, Trait::no_grad},
          .infer = same_f32_as_all_inputs(),
          .exact = {"a", "total"}};
}

}  // namespace pando::ops

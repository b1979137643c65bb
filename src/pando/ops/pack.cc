// Converts a variable to the layout that one kernel reads, once per weight update. The pass
// select-kernels inserts the op together with the kernel that does the packing.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef pack_op() {
  return {.name = "pack",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{"layout", std::string(), {}}},
          .traits = {Trait::per_update, Trait::no_grad},
          .infer = same_type_as_input(0)};
}

}  // namespace pando::ops

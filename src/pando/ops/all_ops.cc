// The only list of ops. The completeness tests demand of each entry a shape rule, a gradient (or
// Trait::no_grad), a reference kernel and a numeric gradient test.
// SPDX-License-Identifier: MIT
#include "pando/ops/all_ops.h"

namespace pando::ops {

const OpTable& builtin_ops() {
  static const OpTable table({
      relu_op(),
      relu_grad_op(),
  });
  return table;
}

}  // namespace pando::ops

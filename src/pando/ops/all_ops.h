// The records of all ops, one function per op, defined in the file of that op.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ops/op.h"

namespace pando::ops {

OpDef relu_op();
OpDef relu_grad_op();

}  // namespace pando::ops

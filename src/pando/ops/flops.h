// How much arithmetic a node is: the multiply-adds of convolutions, dense layers and their
// gradients, which take nearly all the time that arithmetic takes.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ir/graph.h"

namespace pando::ops {

// Floating-point operations of the node for its whole batch, two per multiply-add; 0 for ops whose
// time goes into moving memory. Padding counts as if it were there, and a kernel that needs fewer
// multiplications (Winograd's, those that go back through pooling) does no less. Requires: typed.
double flops(const ir::Node& node);

}  // namespace pando::ops

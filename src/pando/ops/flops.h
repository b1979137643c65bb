// Counts the arithmetic of a node: the multiply-adds of convolutions, dense layers and their
// gradients, which account for nearly all arithmetic of a network.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ir/graph.h"

namespace pando::ops {

// Floating-point operations of the node for its whole batch, two per multiply-add; 0 for ops that
// spend their time moving memory. Products with padding are counted, and the count does not depend
// on the kernel: one that multiplies less (Winograd, gradients through pooling) gets the same
// number. Requires: a typed node.
double flops(const ir::Node& node);

}  // namespace pando::ops

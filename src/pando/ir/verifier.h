// Checks the rules for all graphs that do not depend on the meaning of ops: values are defined once
// and before their use, nodes own their outputs, and each loss, gradient and statistic has its
// target.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ir/graph.h"

namespace pando::ir {

// Throws InternalError, which names the node or value: a broken graph is a bug in Pando.
void verify(const Graph& graph);

}  // namespace pando::ir

// Appends nodes to a graph and infers their types immediately.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ir/graph.h"

namespace pando::ops {

// Appends the node and sets the types of its outputs by the shape rule of its op. If the node is
// wrong, throws InvalidArgument that names it and leaves the graph unchanged. Requires: typed
// inputs.
ir::Node* append(ir::Graph& graph, ir::NodeSpec spec);

}  // namespace pando::ops

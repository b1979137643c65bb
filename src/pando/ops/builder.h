// Appends nodes whose types are known at once.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ir/graph.h"

namespace pando::ops {

// Appends the node and sets the types of its outputs by the shape rule of its op. Throws
// InvalidArgument that names the node; the graph is then as before. Requires: typed inputs.
ir::Node* append(ir::Graph& graph, ir::NodeSpec spec);

}  // namespace pando::ops

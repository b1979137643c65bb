// SPDX-License-Identifier: MIT
#include "pando/ops/builder.h"

#include "pando/ops/op.h"

namespace pando::ops {

ir::Node* append(ir::Graph& graph, ir::NodeSpec spec) {
  ir::Node* node = graph.append(std::move(spec));
  try {
    const auto types = infer_types(*node);
    for (int i = 0; i < node->num_outputs(); ++i) {
      node->output(i)->set_type(types[static_cast<size_t>(i)]);
    }
  } catch (...) {
    graph.erase(node);
    throw;
  }
  return node;
}

}  // namespace pando::ops

// Before:  y = batch_norm(x, m, v, g, b)   z = conv(y, f) | df = conv_filter_grad(y, dz) ...
// After:   y = batch_norm(x, m, v, g, b)   z = conv(y, f) | y' = batch_norm(x, m, v, g, b)
//          df = conv_filter_grad(y', dz) ...
// Backward of a normalisation reads x anyway, so x is kept. Then y is not kept: one pass over x
// computes it again, with the same kernel and the same bits. Forward writes y into memory that is
// free again soon and therefore in the cache, and backward reads one large value from memory
// instead of two.
// SPDX-License-Identifier: MIT
#include <unordered_set>

#include "pando/compiler/passes/copy_node.h"
#include "pando/compiler/passes/passes.h"
#include "pando/ops/op.h"

namespace pando::compiler {

namespace {

using NodeSet = std::unordered_set<const ir::Node*>;

std::vector<ir::Node*> users_in(const NodeSet& nodes, const ir::Graph& graph,
                                const ir::Value* value) {
  std::vector<ir::Node*> users;
  for (ir::Node* user : graph.users(value)) {
    if (nodes.contains(user)) users.push_back(user);
  }
  return users;
}

// Whether backward of the same stage reads the input of the normalisation.
bool keeps_input(const ir::Node& norm, const NodeSet& backward, const ir::Graph& graph) {
  for (const ir::Node* user : users_in(backward, graph, norm.input(0))) {
    if (user->stage() == norm.stage()) return true;
  }
  return false;
}

}  // namespace

bool RepeatNorms::run(CompileState& state) const {
  ir::Graph& graph = state.graph;
  const NodeSet backward = backward_nodes(graph);
  std::vector<ir::Node*> norms;
  for (const auto& node : graph.nodes()) {
    if (backward.contains(node.get())) break;  // behind it are only copies of recompute
    if (node->op() != "batch_norm" || !keeps_input(*node, backward, graph)) continue;
    norms.push_back(node.get());
  }
  bool changed = false;
  for (ir::Node* norm : norms) {
    ir::Node* copy = nullptr;
    for (ir::Node* user : users_in(backward, graph, norm->output())) {
      if (user->stage() != norm->stage()) continue;
      if (copy == nullptr) copy = copy_before(state, *norm, user, norm->inputs());
      for (int i = 0; i < user->num_inputs(); ++i) {
        if (user->input(i) == norm->output()) user->set_input(i, copy->output());
      }
      changed = true;
    }
  }
  return changed;
}

}  // namespace pando::compiler

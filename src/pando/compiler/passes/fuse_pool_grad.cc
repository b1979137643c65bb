// Before:  y, i = max_pool(c)      d = max_pool_grad(dy, i)      dc = relu_grad(d, c)
// After:   y, i = max_pool(c)      dc = max_pool_grad(dy, i, y) {activation="relu"}
// d is zero except where c is the maximum, and there c equals y: the full-size c is not needed.
// SPDX-License-Identifier: MIT
#include "pando/compiler/passes/passes.h"
#include "pando/ops/activation_attribute.h"

namespace pando::compiler {

namespace {

// The max_pool whose index and input this gradient of an activation reads, or null.
const ir::Node* pool_behind(const ir::Graph& graph, const ir::Node& node) {
  const std::string& activation = ops::definition(node).gradient_of;
  if (activation.empty()) return nullptr;
  const ir::Node* scatter = node.input(0)->producer();
  if (scatter == nullptr || scatter->op() != "max_pool_grad" || scatter->num_inputs() != 2) {
    return nullptr;
  }
  if (!ops::can_name_activation(*scatter, activation)) return nullptr;
  if (graph.users(scatter->output()).size() != 1 || graph.is_output(scatter->output()))
    return nullptr;
  const ir::Node* pool = scatter->input(1)->producer();
  if (pool == nullptr || pool->op() != "max_pool" || pool->input(0) != node.input(1))
    return nullptr;
  return pool;
}

}  // namespace

bool FusePoolGrad::run(CompileState& state) const {
  ir::Graph& graph = state.graph;
  std::vector<ir::Node*> found;
  for (const auto& node : graph.nodes()) {
    if (pool_behind(graph, *node) != nullptr) found.push_back(node.get());
  }
  for (ir::Node* node : found) {
    ir::Node* scatter = node->input(0)->producer();
    const ir::Node* pool = pool_behind(graph, *node);
    ops::set_activation(*scatter, ops::definition(*node).gradient_of, *node);
    scatter->add_input(pool->output(0));
    graph.replace_uses(node->output(), scatter->output());
    graph.erase(node);
  }
  return !found.empty();
}

}  // namespace pando::compiler

// Cuts the nodes that run once per weight update into steps. Workers share the nodes of a step and
// meet only between two steps.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <unordered_set>

#include "pando/compiler/passes/passes.h"
#include "pando/ops/op.h"

namespace pando::compiler {

std::vector<std::vector<const ir::Node*>> prologue_steps(const ir::Graph& graph) {
  std::vector<std::vector<const ir::Node*>> steps;
  std::unordered_set<const ir::Node*> newest;
  for (const auto& node : graph.nodes()) {
    if (!ops::has_trait(*node, ops::Trait::per_update)) continue;
    const bool waits = std::ranges::any_of(
        node->inputs(), [&](const ir::Value* value) { return newest.contains(value->producer()); });
    if (steps.empty() || waits) {
      steps.emplace_back();
      newest.clear();
    }
    steps.back().push_back(node.get());
    newest.insert(node.get());
  }
  return steps;
}

}  // namespace pando::compiler

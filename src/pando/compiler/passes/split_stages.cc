// Before:  a ^0   b ^1   loss ^1   b/grad ^1   a/grad ^0      (stages may be mixed)
// After:   | a | b, loss | b/grad | a/grad |                  (one section per | |)
// Nodes that depend on the loss seed belong to backward. A section may read what any earlier
// section wrote, so connections may skip stages in both directions.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <unordered_set>

#include "pando/base/error.h"
#include "pando/compiler/passes/passes.h"
#include "pando/ops/op.h"

namespace pando::compiler {

std::unordered_set<const ir::Node*> backward_nodes(const ir::Graph& graph) {
  std::unordered_set<const ir::Node*> found;
  for (const auto& node : graph.nodes()) {
    const auto& inputs = node->inputs();
    const bool depends = std::any_of(inputs.begin(), inputs.end(), [&](const ir::Value* value) {
      return found.contains(value->producer());
    });
    if (depends || node->op() == "loss_seed") found.insert(node.get());
  }
  return found;
}

namespace {

void check_order(const ir::Graph& graph, const std::unordered_map<const ir::Node*, int>& section) {
  for (const auto& node : graph.nodes()) {
    for (const ir::Value* value : node->inputs()) {
      const ir::Node* producer = value->producer();
      if (producer == nullptr || section.at(producer) <= section.at(node.get())) continue;
      throw InvalidArgument(node->label(), " of stage ", node->stage(), " reads the result of ",
                            producer->label(), " of stage ", producer->stage(),
                            "; a stage may only read from earlier ones");
    }
  }
}

}  // namespace

bool SplitStages::run(CompileState& state) const {
  if (!state.options.pipelined) return false;
  ir::Graph& graph = state.graph;
  int stages = state.options.stages;
  for (const auto& node : graph.nodes()) stages = std::max(stages, node->stage() + 1);
  const auto backward = backward_nodes(graph);
  for (int stage = 0; stage < stages; ++stage) state.sections.push_back({stage, false});
  if (!backward.empty()) {
    for (int stage = stages - 1; stage >= 0; --stage) state.sections.push_back({stage, true});
  }
  std::vector<ir::Node*> order;
  for (const auto& node : graph.nodes()) {
    // Nodes that run once per weight update come before all sections, for every stage that reads
    // them.
    const int stage = ops::has_trait(*node, ops::Trait::per_update) ? 0 : node->stage();
    state.section_of[node.get()] = backward.contains(node.get()) ? 2 * stages - 1 - stage : stage;
    order.push_back(node.get());
  }
  check_order(graph, state.section_of);
  std::vector<ir::Node*> sorted = order;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const ir::Node* a, const ir::Node* b) {
    return state.section_of.at(a) < state.section_of.at(b);
  });
  graph.reorder(sorted);
  return sorted != order;
}

}  // namespace pando::compiler

// Before:  n = batch_norm(x, m, v, g, b)     y = add(n, r)
// After:   y = batch_norm(x, m, v, g, b, r)
// The normalised value is never written. Only training changes: in inference, fold-batch-norm and
// fuse-residual do more. If both summands are normalisations, the later one takes the other. In
// half precision n is rounded, so it stays. SPDX-License-Identifier: MIT
#include "pando/compiler/passes/passes.h"
#include "pando/ops/attribute_values.h"

namespace pando::compiler {

namespace {

bool can_take_residual(const ir::Graph& graph, const ir::Node& norm, const ir::Node& add) {
  if (norm.op() != "batch_norm" || norm.num_inputs() != 5 || norm.stage() != add.stage()) {
    return false;
  }
  return ops::text_attribute(norm, "activation") == "none" && add.input(0) != add.input(1) &&
         graph.users(norm.output()).size() == 1 && !graph.is_output(norm.output());
}

// The number of the summand whose normalisation can take the other one; -1 if there is none.
int fusable_norm(const ir::Graph& graph, const ir::Node& add) {
  if (add.op() != "add" || add.input(0)->shape() != add.input(1)->shape()) return -1;
  int found = -1;
  for (const auto& node : graph.nodes()) {
    for (int i = 0; i < 2; ++i) {
      if (add.input(i)->producer() == node.get() && can_take_residual(graph, *node, add)) found = i;
    }
  }
  return found;
}

void fuse_sum(ir::Graph& graph, const ir::Node* add, int summand) {
  const ir::Node* norm = add->input(summand)->producer();
  std::vector<ir::Value*> inputs = norm->inputs();
  inputs.push_back(add->input(1 - summand));
  ir::Attributes attributes = norm->attributes();
  for (const auto& [name, value] : add->attributes().values()) attributes.set(name, value);
  // In the place of the sum, where both summands are known.
  ir::Node* fused = graph.insert_before(add, {.op = "batch_norm",
                                              .inputs = std::move(inputs),
                                              .attributes = std::move(attributes),
                                              .name = norm->name()});
  fused->output()->set_type(add->output()->type());
  graph.replace_uses(add->output(), fused->output());
  graph.erase(add);
  graph.erase(norm);
}

}  // namespace

bool FuseNormAdd::run(CompileState& state) const {
  ir::Graph& graph = state.graph;
  if (state.options.precision.half() || backward_nodes(graph).empty()) return false;
  std::vector<const ir::Node*> sums;
  for (const auto& node : graph.nodes()) {
    if (fusable_norm(graph, *node) >= 0) sums.push_back(node.get());
  }
  for (const ir::Node* add : sums) fuse_sum(graph, add, fusable_norm(graph, *add));
  return !sums.empty();
}

}  // namespace pando::compiler

// Before:  c = conv(x, f, b)     y = add(c, r)
// After:   y = conv(x, f, b, r)
// The sum is computed while the convolution's result is in registers, so c is never written. Only
// graphs without a backward part change. If both summands are convolutions, the later one takes the
// other as its operand. The kernels of grouped convolutions take none.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/compiler/passes/passes.h"
#include "pando/ops/attribute_values.h"

namespace pando::compiler {

namespace {

bool can_add(const ir::Graph& graph, const ir::Node* conv, const ir::Node& add) {
  if (conv == nullptr || conv->op() != "conv" || conv->num_inputs() != 3) return false;
  if (ops::text_attribute(*conv, "activation") != "none") return false;
  if (ops::int_attribute(*conv, "groups") != 1 || conv->stage() != add.stage()) return false;
  const std::vector<ir::Node*> users = graph.users(conv->output());
  return users.size() == 1 && add.input(0) != add.input(1) && !graph.is_output(conv->output());
}

// The number of the summand whose convolution can take the other one; -1 if there is none.
int fusable_summand(const ir::Graph& graph, const ir::Node& add) {
  if (add.op() != "add" || add.input(0)->shape() != add.input(1)->shape()) return -1;
  int found = -1;
  for (const auto& node : graph.nodes()) {
    for (int i = 0; i < 2; ++i) {
      if (add.input(i)->producer() == node.get() && can_add(graph, node.get(), add)) found = i;
    }
  }
  return found;
}

void fuse(ir::Graph& graph, const ir::Node* add, int summand) {
  const ir::Node* conv = add->input(summand)->producer();
  std::vector<ir::Value*> inputs = conv->inputs();
  inputs.push_back(add->input(1 - summand));
  ir::Attributes attributes = conv->attributes();
  for (const auto& [name, value] : add->attributes().values()) attributes.set(name, value);
  // Replaces the sum at its own position, where both summands exist.
  ir::Node* fused = graph.insert_before(add, {.op = "conv",
                                              .inputs = std::move(inputs),
                                              .attributes = std::move(attributes),
                                              .name = conv->name()});
  fused->output()->set_type(add->output()->type());
  graph.replace_uses(add->output(), fused->output());
  graph.erase(add);
  graph.erase(conv);
}

}  // namespace

bool FuseResidual::run(CompileState& state) const {
  // With half partials, sums of products must be rounded before anything is added.
  if (state.options.precision.half() && state.options.half.half_partials) return false;
  ir::Graph& graph = state.graph;
  if (!backward_nodes(graph).empty()) return false;
  std::vector<const ir::Node*> sums;
  for (const auto& node : graph.nodes()) {
    if (fusable_summand(graph, *node) >= 0) sums.push_back(node.get());
  }
  bool changed = false;
  for (const ir::Node* add : sums) {
    const int summand = fusable_summand(graph, *add);
    if (summand < 0) continue;  // the sum before it took the convolution
    fuse(graph, add, summand);
    changed = true;
  }
  return changed;
}

}  // namespace pando::compiler

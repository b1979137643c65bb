// Before:  c = conv(x, f)    y = relu(c)         (same stage; c has no other user)
// After:   y = conv(x, f) {activation="relu"}
// The same for every op with Trait::post_op in place of relu and every op with Trait::takes_post_op
// in place of conv. The backward graph reads y only (relu_grad takes its mask from the result), so
// it needs no change. Where the gradient of an activation reads y and no other op can take that
// gradient over (OpDef::gradient_of), the activation stays an op of its own: training gains
// nothing.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/compiler/passes/passes.h"
#include "pando/ops/activation_attribute.h"
#include "pando/ops/attribute_values.h"

namespace pando::compiler {

namespace {

bool can_host(const ir::Graph& graph, const ir::Node* node) {
  if (node == nullptr || !ops::has_trait(*node, ops::Trait::takes_post_op)) return false;
  if (ops::text_attribute(*node, "activation") != "none") return false;
  return graph.users(node->output()).size() == 1 && !graph.is_output(node->output());
}

bool has_gradient_of_its_own(const ir::Graph& graph, const ir::Node& activation) {
  const auto reads = [&](const ir::Node* user) {
    return user->op() == activation.op() + "_grad" && ops::definition(*user).gradient_of.empty();
  };
  return std::ranges::any_of(graph.users(activation.output()), reads);
}

}  // namespace

bool FusePostOps::run(CompileState& state) const {
  ir::Graph& graph = state.graph;
  std::vector<ir::Node*> activations;
  for (const auto& node : graph.nodes()) {
    const ir::Node* host = node->num_inputs() > 0 ? node->input(0)->producer() : nullptr;
    if (ops::has_trait(*node, ops::Trait::post_op) && can_host(graph, host) &&
        host->stage() == node->stage() && !has_gradient_of_its_own(graph, *node)) {
      activations.push_back(node.get());
    }
  }
  for (ir::Node* node : activations) {
    ir::Node* host = node->input(0)->producer();
    ops::set_activation(*host, node->op(), *node);
    graph.replace_uses(node->output(), host->output());
    graph.erase(node);
  }
  return !activations.empty();
}

}  // namespace pando::compiler

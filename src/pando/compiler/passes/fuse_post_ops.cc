// Before:  c = conv(x, k)    y = relu(c)         (same stage; c has no other user)
// After:   y = conv(x, k) {activation="relu"}
// The same for leaky_relu, and for dense, batch_norm and add in place of conv. The backward graph
// reads y only (relu_grad takes its mask from the result), so it needs no change.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "pando/compiler/passes/passes.h"
#include "pando/ops/attribute_values.h"

namespace pando::compiler {

namespace {

constexpr std::array<std::string_view, 4> kHosts = {"conv", "dense", "batch_norm", "add"};

bool is_activation(const ir::Node& node) {
  return node.op() == "relu" || node.op() == "leaky_relu";
}

bool can_host(const ir::Graph& graph, const ir::Node* node) {
  if (node == nullptr || std::find(kHosts.begin(), kHosts.end(), node->op()) == kHosts.end()) {
    return false;
  }
  if (ops::text_attribute(*node, "activation") != "none") return false;
  return graph.users(node->output()).size() == 1 && !graph.is_output(node->output());
}

}  // namespace

bool FusePostOps::run(CompileState& state) const {
  ir::Graph& graph = state.graph;
  std::vector<ir::Node*> activations;
  for (const auto& node : graph.nodes()) {
    const ir::Node* host = node->num_inputs() > 0 ? node->input(0)->producer() : nullptr;
    if (is_activation(*node) && can_host(graph, host) && host->stage() == node->stage()) {
      activations.push_back(node.get());
    }
  }
  for (ir::Node* node : activations) {
    ir::Node* host = node->input(0)->producer();
    host->attributes().set("activation", node->op());
    if (node->op() == "leaky_relu") {
      host->attributes().set("alpha", ops::number_attribute(*node, "alpha"));
    }
    graph.replace_uses(node->output(), host->output());
    graph.erase(node);
  }
  return !activations.empty();
}

}  // namespace pando::compiler

// Before:  y = batch_norm(x, ...) {activation="relu"}       d = relu_grad(dy, y)
//          a, b = batch_norm_sums(d, x, m, v)     dx = batch_norm_input_grad(d, x, m, v, g, s, t)
// After:   a, b = batch_norm_sums(dy, x, m, v, y) {activation="relu"}
//          dx = batch_norm_input_grad(dy, x, m, v, g, s, t, y) {activation="relu"}
// Applies only if no other node reads d. Then d is never written. The same holds for every op whose
// gradient the backward ops of batch norm can take.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/compiler/passes/passes.h"
#include "pando/ops/activation_attribute.h"

namespace pando::compiler {

namespace {

bool reads_only_as_gradient(const ir::Node* user, const ir::Value* masked) {
  const bool known = (user->op() == "batch_norm_sums" && user->num_inputs() == 4) ||
                     (user->op() == "batch_norm_input_grad" && user->num_inputs() == 7);
  const auto& inputs = user->inputs();
  return known && user->input(0) == masked && std::count(inputs.begin(), inputs.end(), masked) == 1;
}

bool is_fusable_mask(const ir::Graph& graph, const ir::Node& node) {
  const std::string& activation = ops::definition(node).gradient_of;
  if (activation.empty() || graph.is_output(node.output())) return false;
  const auto users = graph.users(node.output());
  return !users.empty() && std::all_of(users.begin(), users.end(), [&](const ir::Node* user) {
    return reads_only_as_gradient(user, node.output()) &&
           ops::can_name_activation(*user, activation) && user->stage() == node.stage();
  });
}

}  // namespace

bool FuseBatchNormGrad::run(CompileState& state) const {
  ir::Graph& graph = state.graph;
  std::vector<ir::Node*> masks;
  for (const auto& node : graph.nodes()) {
    if (is_fusable_mask(graph, *node)) masks.push_back(node.get());
  }
  for (ir::Node* mask : masks) {
    for (ir::Node* user : graph.users(mask->output())) {
      user->set_input(0, mask->input(0));
      user->add_input(mask->input(1));
      ops::set_activation(*user, ops::definition(*mask).gradient_of, *mask);
    }
    graph.erase(mask);
  }
  return !masks.empty();
}

}  // namespace pando::compiler

// Before:  y = batch_norm(x, m, v, g, b) {activation="relu"}       d = relu_grad(dy, y)
//          a, c = batch_norm_sums(d, x, m, v)     dx = batch_norm_input_grad(d, x, m, v, g, s, t)
// After:   a, c = batch_norm_sums(dy, x, m, v, g, b) {activation="relu"}
//          dx = batch_norm_input_grad(dy, x, m, v, g, s, t, b) {activation="relu"}
// Applies only if no other node reads d. Then d is never written, and y is not read: the backward
// ops compute its sign again from x. The same holds for every op whose gradient they can take.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/compiler/passes/passes.h"
#include "pando/ops/activation_attribute.h"
#include "pando/ops/attribute_values.h"

namespace pando::compiler {

namespace {

// Whether `user` is a gradient of `norm` that reads `masked` as the gradient of its result alone.
bool is_gradient_of(const ir::Node* user, const ir::Node* norm, const ir::Value* masked) {
  const bool sums = user->op() == "batch_norm_sums" && user->num_inputs() == 4;
  const bool input_grad = user->op() == "batch_norm_input_grad" && user->num_inputs() == 7;
  if (!sums && !input_grad) return false;
  const auto& inputs = user->inputs();
  if (user->input(0) != masked || std::count(inputs.begin(), inputs.end(), masked) != 1) {
    return false;
  }
  for (int i = 0; i < (sums ? 3 : 4); ++i) {
    if (user->input(i + 1) != norm->input(i)) return false;
  }
  return ops::number_attribute(*user, "epsilon") == ops::number_attribute(*norm, "epsilon");
}

bool is_fusable_mask(const ir::Graph& graph, const ir::Node& node) {
  const std::string& activation = ops::definition(node).gradient_of;
  if (activation.empty() || graph.is_output(node.output())) return false;
  const ir::Node* norm = node.input(1)->producer();
  if (norm == nullptr || norm->op() != "batch_norm") return false;
  if (ops::text_attribute(*norm, "activation") != activation) return false;
  const auto users = graph.users(node.output());
  return !users.empty() && std::all_of(users.begin(), users.end(), [&](const ir::Node* user) {
    return is_gradient_of(user, norm, node.output()) &&
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
    const ir::Node* norm = mask->input(1)->producer();
    for (ir::Node* user : graph.users(mask->output())) {
      user->set_input(0, mask->input(0));
      if (user->op() == "batch_norm_sums") user->add_input(norm->input(3));
      user->add_input(norm->input(4));
      ops::set_activation(*user, ops::definition(*mask).gradient_of, *mask);
    }
    graph.erase(mask);
  }
  return !masks.empty();
}

}  // namespace pando::compiler

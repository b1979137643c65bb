// Before:  c = conv(x, f, b)     y = batch_norm(c, mean, variance, gamma, beta)
// After:   g, s = fold_batch_norm(f, mean, variance, gamma, beta, b)     y = conv(x, g, s)
// The same for every op with Trait::linear_filter in place of conv, and for those without groups
// that have Trait::transposed_filter. The fold depends on variables and moving statistics alone, so
// it runs with the packing of weights, and new weights take effect. Only graphs without a backward
// part change: training keeps its kernels, also where frozen layers normalise by moving statistics.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/compiler/passes/passes.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/op.h"

namespace pando::compiler {

namespace {

bool is_weight(const ir::Value* value) {
  return value->is_input() && value->role() != ir::InputRole::feed;
}

bool has_weights_from(const ir::Node& node, int first) {
  return std::all_of(node.inputs().begin() + first, node.inputs().end(), is_weight);
}

bool takes_folded_filter(const ir::Node& node) {
  if (ops::has_trait(node, ops::Trait::linear_filter)) return true;
  return ops::has_trait(node, ops::Trait::transposed_filter) &&
         ops::int_attribute(node, "groups") == 1;
}

// The node before `norm` whose filter can do its work; null if there is none.
ir::Node* foldable_host(const ir::Graph& graph, const ir::Node& norm) {
  if (norm.op() != "batch_norm" || !has_weights_from(norm, 1)) return nullptr;
  if (ops::text_attribute(norm, "activation") != "none") return nullptr;
  ir::Node* host = norm.input(0)->producer();
  if (host == nullptr || !takes_folded_filter(*host)) return nullptr;
  if (host->num_inputs() > 3 || !has_weights_from(*host, 1)) return nullptr;
  if (ops::text_attribute(*host, "activation") != "none") return nullptr;
  const bool only_reader =
      graph.users(host->output()).size() == 1 && !graph.is_output(host->output());
  return only_reader && host->stage() == norm.stage() ? host : nullptr;
}

void fold(ir::Graph& graph, const ir::Node* norm) {
  ir::Node* host = norm->input(0)->producer();
  std::vector<ir::Value*> inputs = norm->inputs();
  inputs[0] = host->input(1);
  if (host->num_inputs() > 2) inputs.push_back(host->input(2));
  ir::Attributes attributes = {{"epsilon", ops::number_attribute(*norm, "epsilon")}};
  if (ops::has_trait(*host, ops::Trait::transposed_filter)) {
    attributes.set("transposed", int64_t{1});
  }
  ir::Node* folded = graph.insert_before(host, {.op = "fold_batch_norm",
                                                .inputs = std::move(inputs),
                                                .outputs = 2,
                                                .attributes = std::move(attributes),
                                                .name = norm->name()});
  folded->output(0)->set_type(host->input(1)->type());
  folded->output(1)->set_type(norm->input(1)->type());
  host->set_input(1, folded->output(0));
  if (host->num_inputs() > 2) {
    host->set_input(2, folded->output(1));
  } else {
    host->add_input(folded->output(1));
  }
  graph.replace_uses(norm->output(), host->output());
  graph.erase(norm);
}

}  // namespace

bool FoldBatchNorm::run(CompileState& state) const {
  ir::Graph& graph = state.graph;
  if (!backward_nodes(graph).empty()) return false;
  std::vector<const ir::Node*> norms;
  for (const auto& node : graph.nodes()) {
    if (foldable_host(graph, *node) != nullptr) norms.push_back(node.get());
  }
  bool changed = false;
  for (const ir::Node* norm : norms) {
    // A second normalisation of the same result does not fold: its filter is not a variable any
    // more.
    if (foldable_host(graph, *norm) == nullptr) continue;
    fold(graph, norm);
    changed = true;
  }
  return changed;
}

}  // namespace pando::compiler

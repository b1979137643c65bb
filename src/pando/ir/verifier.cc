// SPDX-License-Identifier: MIT
#include "pando/ir/verifier.h"

#include <set>
#include <string_view>
#include <unordered_set>

#include "pando/base/error.h"

namespace pando::ir {

namespace {

void verify_nodes(const Graph& graph) {
  std::unordered_set<const Value*> defined(graph.inputs().begin(), graph.inputs().end());
  std::set<std::string_view> names;
  for (const Value* value : graph.inputs()) names.insert(value->name());
  for (const auto& node : graph.nodes()) {
    for (const Value* value : node->inputs()) {
      PANDO_CHECK(value != nullptr, node->label(), " has an empty input");
      PANDO_CHECK(defined.contains(value), node->label(), " uses '", value->name(),
                  "' before it is defined");
    }
    PANDO_CHECK(!node->outputs().empty(), node->label(), " has no outputs");
    for (const Value* value : node->outputs()) {
      PANDO_CHECK(value->producer() == node.get(), node->label(), " does not own '", value->name(),
                  "'");
      PANDO_CHECK(names.insert(value->name()).second, "value '", value->name(),
                  "' is defined twice");
      defined.insert(value);
    }
  }
  for (const Output& output : graph.outputs()) {
    PANDO_CHECK(defined.contains(output.value), "output '", output.name, "' is not defined");
  }
}

void verify_targets(const Graph& graph) {
  for (const Output& output : graph.outputs()) {
    const bool gradient = output.role == OutputRole::gradient;
    if (!gradient && output.role != OutputRole::statistic) continue;
    const Value* target = graph.find_value(output.name);
    const InputRole wanted = gradient ? InputRole::variable : InputRole::state;
    PANDO_CHECK(target != nullptr && target->role() == wanted, to_string(output.role), " '",
                output.name, "': there is no ", to_string(wanted), " of that name");
    if (!target->typed() || !output.value->typed()) continue;
    TensorType type = target->type();
    // The moments of a statistic: mean and sum of squares per channel, and the count.
    if (!gradient) type.shape = {2 * target->shape().elements() + 1};
    PANDO_CHECK(output.value->type() == type, to_string(output.role), " '", output.name,
                "': expected ", to_string(type), ", got ", to_string(output.value->type()));
  }
}

}  // namespace

void verify(const Graph& graph) {
  verify_nodes(graph);
  verify_targets(graph);
}

}  // namespace pando::ir

// SPDX-License-Identifier: MIT
#include "pando/grad/gradients.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "pando/base/error.h"
#include "pando/ops/builder.h"
#include "pando/ops/op.h"

namespace pando::grad {

namespace {

// The values that depend on the variables through differentiable ops.
std::unordered_set<const ir::Value*> dependents(const ir::Graph& graph,
                                                const std::vector<const ir::Value*>& variables) {
  std::unordered_set<const ir::Value*> found(variables.begin(), variables.end());
  for (const auto& node : graph.nodes()) {
    if (ops::has_trait(*node, ops::Trait::no_grad)) continue;
    const auto& inputs = node->inputs();
    if (std::any_of(inputs.begin(), inputs.end(),
                    [&](const ir::Value* input) { return found.contains(input); })) {
      found.insert(node->outputs().begin(), node->outputs().end());
    }
  }
  return found;
}

// Collects contributions to the gradient of each value. When the walk reaches the producer of a
// value all its users have been seen, so the contributions are complete and can be summed.
class Backward : public ops::GradBuilder {
 public:
  Backward(ir::Graph& graph, std::unordered_set<const ir::Value*> wanted)
      : graph_(graph), wanted_(std::move(wanted)) {}

  bool wants(const ir::Value* value) const override { return wanted_.contains(value); }

  ir::Node* emit(std::string op, std::vector<ir::Value*> inputs, ir::Attributes attributes,
                 int outputs) override {
    return ops::append(graph_, {.op = std::move(op),
                                .inputs = std::move(inputs),
                                .outputs = outputs,
                                .attributes = std::move(attributes),
                                .name = place_,
                                .output_names = {}});
  }

  void add(const ir::Value* value, ir::Value* gradient) override {
    if (!wants(value)) return;
    PANDO_CHECK(gradient->type() == value->type(), "gradient of '", value->name(), "': expected ",
                to_string(value->type()), ", got ", to_string(gradient->type()));
    contributions_[value].push_back(gradient);
  }

  // The summed gradient of a value, or null if there is none. The sum is named after the value's
  // producer, because the paths branch there.
  ir::Value* total(const ir::Value* value) {
    const auto found = contributions_.find(value);
    if (found == contributions_.end()) return nullptr;
    std::vector<ir::Value*>& parts = found->second;
    const ir::Node* producer = value->producer();
    place_ = (producer != nullptr ? producer->name() : value->name()) + "/grad";
    ir::Value* sum = parts.front();
    graph_.set_current_stage(producer != nullptr ? producer->stage() : lowest_stage(parts));
    for (size_t i = 1; i < parts.size(); ++i) sum = emit("add", {sum, parts[i]}, {}, 1)->output();
    parts = {sum};
    return sum;
  }

  void differentiate(const ir::Node& node) {
    const auto& inputs = node.inputs();
    if (std::none_of(inputs.begin(), inputs.end(),
                     [&](const ir::Value* input) { return wants(input); })) {
      return;
    }
    std::vector<ir::Value*> gradients;
    for (const ir::Value* output : node.outputs()) gradients.push_back(total(output));
    if (std::all_of(gradients.begin(), gradients.end(),
                    [](const ir::Value* gradient) { return gradient == nullptr; })) {
      return;
    }
    place_ = node.name() + "/grad";
    graph_.set_current_stage(node.stage());
    ops::builtin_ops().get(node.op()).grad(node, gradients, *this);
  }

 private:
  // A variable may be used in several stages; backward reaches the lowest of them last.
  static int lowest_stage(const std::vector<ir::Value*>& parts) {
    int lowest = std::numeric_limits<int>::max();
    for (const ir::Value* part : parts) {
      const ir::Node* producer = part->producer();
      lowest = std::min(lowest, producer == nullptr ? 0 : producer->stage());
    }
    return lowest;
  }

  ir::Graph& graph_;
  std::unordered_set<const ir::Value*> wanted_;
  std::unordered_map<const ir::Value*, std::vector<ir::Value*>> contributions_;
  std::string place_;  // the name of the nodes that emit() adds
};

}  // namespace

std::vector<VariableGradient> append_gradients(ir::Graph& graph, ir::Value* loss, ir::Value* seed,
                                               const GradientOptions& options) {
  std::vector<const ir::Value*> variables = options.variables;
  if (variables.empty()) {
    std::copy_if(graph.inputs().begin(), graph.inputs().end(), std::back_inserter(variables),
                 [](const ir::Value* input) { return input->role() == ir::InputRole::variable; });
  }
  if (seed->type() != loss->type()) {
    throw InvalidArgument("gradient of '", loss->name(), "': expected a seed of type ",
                          to_string(loss->type()), ", got ", to_string(seed->type()));
  }
  std::vector<const ir::Node*> forward;
  for (const auto& node : graph.nodes()) {
    if (!ops::has_trait(*node, ops::Trait::no_grad)) forward.push_back(node.get());
  }
  Backward backward(graph, dependents(graph, variables));
  backward.add(loss, seed);
  for (auto node = forward.rbegin(); node != forward.rend(); ++node) {
    backward.differentiate(**node);
  }
  std::vector<VariableGradient> gradients;
  for (const ir::Value* variable : variables) {
    if (ir::Value* gradient = backward.total(variable)) gradients.push_back({variable, gradient});
  }
  return gradients;
}

void add_gradient_outputs(ir::Graph& graph, const std::vector<VariableGradient>& gradients) {
  for (const VariableGradient& gradient : gradients) {
    graph.add_output(ir::OutputRole::gradient, gradient.variable->name(), gradient.gradient);
  }
}

}  // namespace pando::grad

// The order in which the layers of a Functional model are called.
// SPDX-License-Identifier: MIT
#include <map>

#include "pando/base/error.h"
#include "pando/keras/importer_impl.h"

namespace pando::keras {
namespace {

// The results of the calls so far, by layer.
class CallResults {
 public:
  void add(const std::string& layer, std::vector<Computed> outputs) {
    results_[layer].push_back(std::move(outputs));
  }
  size_t calls(const std::string& layer) const {
    const auto found = results_.find(layer);
    return found == results_.end() ? 0 : found->second.size();
  }
  // Null: not there yet.
  const Computed* find(const TensorRef& ref) const {
    const auto found = results_.find(ref.layer);
    if (found == results_.end() || ref.call < 0 || ref.call >= std::ssize(found->second)) {
      return nullptr;
    }
    const std::vector<Computed>& outputs = found->second[static_cast<size_t>(ref.call)];
    if (ref.output < 0 || ref.output >= std::ssize(outputs)) return nullptr;
    return &outputs[static_cast<size_t>(ref.output)];
  }
  // The tensors of a call; nothing while one of them is not there.
  std::optional<std::vector<Computed>> operands(const LayerCall& call) const {
    std::vector<Computed> tensors;
    const auto add_tensor = [&](const Operand& operand) {
      if (!operand.is_tensor) return true;
      const Computed* value = find(operand.tensor);
      if (value != nullptr) tensors.push_back(*value);
      return value != nullptr;
    };
    for (const Operand& operand : call.operands) {
      if (!add_tensor(operand)) return std::nullopt;
    }
    for (const auto& [name, operand] : call.named) {
      if (!add_tensor(operand)) return std::nullopt;
    }
    return tensors;
  }

 private:
  std::map<std::string, std::vector<std::vector<Computed>>> results_;
};

// Calls a layer as often as its inputs allow; returns how many calls that were.
int call_if_ready(const LayerConfig& layer, const CallLayer& call, CallResults& results) {
  int made = 0;
  for (size_t next = results.calls(layer.name); next < layer.calls.size(); ++next, ++made) {
    const auto inputs = results.operands(layer.calls[next]);
    if (!inputs) break;
    results.add(layer.name, call(layer, &layer.calls[next], *inputs));
  }
  return made;
}

}  // namespace

std::vector<Computed> apply_functional(const ModelConfig& model,
                                       const std::vector<Computed>& inputs, const CallLayer& call) {
  if (inputs.size() != model.inputs.size()) {
    throw IoError("model '", model.name, "': expected ", model.inputs.size(), " inputs, got ",
                  inputs.size());
  }
  CallResults results;
  for (size_t i = 0; i < inputs.size(); ++i) results.add(model.inputs[i].layer, {inputs[i]});
  std::vector<const LayerConfig*> pending;
  for (const LayerConfig& layer : model.layers) {
    if (!layer.is_input()) pending.push_back(&layer);
  }
  while (!pending.empty()) {  // layers may stand before those whose results they use
    std::vector<const LayerConfig*> later;
    int made = 0;
    for (const LayerConfig* layer : pending) {
      made += call_if_ready(*layer, call, results);
      if (results.calls(layer->name) < layer->calls.size()) later.push_back(layer);
    }
    if (made == 0 && !later.empty()) {
      throw IoError("model '", model.name, "': layer '", later[0]->name,
                    "' uses a result that no layer has, or its own");
    }
    pending = std::move(later);
  }
  std::vector<Computed> outputs;
  for (const TensorRef& ref : model.outputs) {
    const Computed* value = results.find(ref);
    if (value == nullptr) {
      throw IoError("model '", model.name, "': output '", ref.layer, "': there is no such result");
    }
    outputs.push_back(*value);
  }
  return outputs;
}

}  // namespace pando::keras

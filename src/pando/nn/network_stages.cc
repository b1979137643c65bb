// The pipeline stages of a network: reading, checking and changing them.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <set>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/nn/network.h"

namespace pando {

const std::string& Network::layer_name(int call) const {
  return layers_[static_cast<size_t>(calls_[static_cast<size_t>(call)].layer)].name;
}

std::string Network::call_label(int call) const {
  int before = 0;
  int all = 0;
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].layer != calls_[static_cast<size_t>(call)].layer) continue;
    before += static_cast<int>(i) < call ? 1 : 0;
    ++all;
  }
  const std::string name = concat("'", layer_name(call), "'");
  return all > 1 ? concat(name, " (call ", before, ")") : name;
}

std::string Network::layer_list() const {
  std::vector<std::string> names;
  for (size_t i = first_layer_call(); i < layers_.size(); ++i) names.push_back(layers_[i].name);
  return join(names, ", ");
}

int Network::stages() const {
  int last = 0;
  for (const Call& call : calls_) last = std::max(last, call.stage);
  return last + 1;
}

std::vector<StageAssignment> Network::stage_assignment() const {
  std::vector<StageAssignment> assignment;
  std::map<int, int> calls_of_layer;
  for (size_t i = first_layer_call(); i < calls_.size(); ++i) {
    const Call& call = calls_[i];
    StageAssignment entry{.layer = layer_name(static_cast<int>(i)),
                          .node_index = calls_of_layer[call.layer]++,
                          .inbound_layers = {},
                          .pipeline_stage = call.stage};
    for (const int input : call.inputs) entry.inbound_layers.push_back(layer_name(input));
    assignment.push_back(std::move(entry));
  }
  return assignment;
}

void Network::check_stages() const {
  const bool assigned =
      std::any_of(calls_.begin(), calls_.end(), [](const Call& call) { return call.stage >= 0; });
  if (!assigned) return;
  check_all_assigned();
  check_flow();
}

void Network::check_all_assigned() const {
  std::set<int> owned;
  for (size_t i = first_layer_call(); i < calls_.size(); ++i) {
    if (calls_[i].stage < 0) {
      throw InvalidArgument("layer ", call_label(static_cast<int>(i)),
                            " has no pipeline stage, but other layers have one; assign a stage to "
                            "all layers or to none");
    }
    owned.insert(calls_[i].stage);
  }
  int stage = 0;
  for (const int number : owned) {
    if (number != stage) {
      throw InvalidArgument("pipeline stage ", stage, " has no layer; each stage from 0 to ",
                            *owned.rbegin(), " must have at least one");
    }
    ++stage;
  }
}

void Network::check_flow() const {
  for (size_t i = first_layer_call(); i < calls_.size(); ++i) {
    for (const int input : calls_[i].inputs) {
      const int before = calls_[static_cast<size_t>(input)].stage;
      if (before <= calls_[i].stage) continue;
      throw InvalidArgument("layer ", call_label(static_cast<int>(i)), " in pipeline stage ",
                            calls_[i].stage, " uses the result of ", call_label(input),
                            " in stage ", before,
                            "; a layer may use results of its own or earlier stages only");
    }
  }
}

Network Network::with_call_stages(const std::vector<int>& stages) const {
  Network copy = *this;
  for (size_t i = 0; i < stages.size(); ++i) copy.calls_[first_layer_call() + i].stage = stages[i];
  copy.check_stages();
  return copy;
}

Network Network::without_stages() const {
  return with_call_stages(std::vector<int>(calls_.size() - first_layer_call(), -1));
}

Network Network::with_stages(const std::vector<StageAssignment>& assignment) const {
  const std::vector<StageAssignment> own = stage_assignment();
  const auto label = [](const StageAssignment& entry) {
    return concat("'", entry.layer, "' (node index ", entry.node_index, ")");
  };
  std::vector<int> stages;
  for (size_t i = 0; i < std::min(own.size(), assignment.size()); ++i) {
    const StageAssignment& entry = assignment[i];
    if (entry.layer != own[i].layer || entry.node_index != own[i].node_index) {
      throw InvalidArgument("pipeline stage assignment: entry ", i, ": expected ", label(own[i]),
                            ", got ", label(entry));
    }
    if (entry.pipeline_stage < -1) {
      throw InvalidArgument("pipeline stage assignment: the stage of ", label(entry),
                            ": expected 0 or more, or -1 for none, got ", entry.pipeline_stage);
    }
    stages.push_back(entry.pipeline_stage);
  }
  if (own.size() != assignment.size()) {
    throw InvalidArgument(
        "pipeline stage assignment: expected ", own.size(), " entries, one for each call, got ",
        assignment.size(), "; the first difference is ",
        label(own.size() > assignment.size() ? own[assignment.size()] : assignment[own.size()]));
  }
  return with_call_stages(stages);
}

bool Network::is_auxiliary(int call) const {
  return call < static_cast<int>(inputs_.size()) && inputs_[static_cast<size_t>(call)].auxiliary;
}

// Throws InvalidArgument unless each layer uses only the result of the layer before it. Auxiliary
// inputs may enter anywhere.
void Network::require_chain() const {
  int before = 0;
  for (size_t i = first_layer_call(); i < calls_.size(); ++i) {
    std::vector<int> inputs = calls_[i].inputs;
    std::erase_if(inputs, [&](int input) { return is_auxiliary(input); });
    const bool follows = inputs == std::vector<int>{before};
    before = static_cast<int>(i);
    if (follows) continue;
    throw InvalidArgument(
        "a list of stage numbers needs a chain of layers, but layer ",
        call_label(static_cast<int>(i)),
        " does not use only the layer before it; edit what stage_assignment() returns instead");
  }
}

Network Network::with_stages(const std::vector<int>& stages) const {
  require_chain();
  const size_t layers = calls_.size() - first_layer_call();
  if (stages.size() != layers) {
    throw InvalidArgument("pipeline stages: expected ", layers,
                          ", one for each layer except the input, got ", stages.size());
  }
  for (size_t i = 0; i < stages.size(); ++i) {
    const bool right =
        i == 0 ? stages[0] == 0 : stages[i] == stages[i - 1] || stages[i] == stages[i - 1] + 1;
    if (right) continue;
    const std::string wanted =
        i == 0 ? "0" : concat(stages[i - 1], " (that of the layer before) or one more");
    throw InvalidArgument("the pipeline stage of layer ",
                          call_label(static_cast<int>(first_layer_call() + i)), ": expected ",
                          wanted, ", got ", stages[i]);
  }
  return with_call_stages(stages);
}

size_t Network::split_call(const std::string& name) const {
  layer(name);  // throws for an unknown name
  std::vector<size_t> found;
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (layer_name(static_cast<int>(i)) == name) found.push_back(i);
  }
  if (found[0] <= first_layer_call()) {
    const bool input = found[0] < first_layer_call();
    throw InvalidArgument("pipeline split: '", name, "' is ",
                          input ? "an input" : "the first layer",
                          ", so stage 0 would be empty; use a later layer of: ", layer_list());
  }
  if (found.size() > 1) {
    throw InvalidArgument(
        "pipeline split: layer '", name, "' is called ", found.size(),
        " times, so it cannot start a stage; use another layer of: ", layer_list());
  }
  return found[0] - first_layer_call();
}

Network Network::with_splits(const std::vector<std::string>& layer_names) const {
  if (layer_names.empty()) return without_stages();
  std::vector<int> stages(calls_.size() - first_layer_call(), 0);
  size_t before = 0;
  for (size_t i = 0; i < layer_names.size(); ++i) {
    const size_t start = split_call(layer_names[i]);
    if (start <= before) {
      const std::string wrong =
          start == before ? "is given twice"
                          : concat("comes before '", layer_names[i - 1], "' in execution order");
      throw InvalidArgument("pipeline split: '", layer_names[i], "' ", wrong,
                            "; layers: ", layer_list());
    }
    for (size_t call = start; call < stages.size(); ++call) ++stages[call];
    before = start;
  }
  return with_call_stages(stages);
}

}  // namespace pando

// SPDX-License-Identifier: MIT
#include "pando/app/run/fine_tuning.h"

#include <algorithm>
#include <set>

#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"
#include "pando/zoo/head.h"

namespace pando::app {
namespace {

// The layer and all that its result depends on, with inputs.
std::set<std::string> with_ancestors(const Network& network, const std::string& layer) {
  std::set<std::string> found;
  const std::function<void(const std::string&)> add = [&](const std::string& name) {
    if (!found.insert(name).second) return;
    for (const std::string& before : network.layer(name).inbound) add(before);
  };
  add(layer);
  return found;
}

zoo::Head head_of(const Network& network, const std::string& flag) {
  try {
    return zoo::find_head(network);
  } catch (const InvalidArgument& error) {
    throw UsageError(flag, ": ", error.what());
  }
}

// The layers that keep their initial weights: a new classifier.
std::set<std::string> new_layers(const Network& network, const TuningFlags& flags) {
  if (!flags.replaces_head()) return {};
  return {head_of(network, "--classes").classifier};
}

}  // namespace

std::vector<std::string> frozen_layers(const Network& network, const TuningFlags& flags) {
  std::vector<std::string> frozen;
  if (!flags.freezes()) return frozen;
  std::set<std::string> chosen;
  const std::string last = flags.last_frozen();
  if (!last.empty()) {
    try {
      chosen = with_ancestors(network, last);
    } catch (const InvalidArgument& error) {
      throw UsageError("--freeze until: ", error.what());
    }
  }
  std::vector<std::string> head;
  if (last.empty()) head = head_of(network, "--freeze all").layers;
  int64_t left = 0;
  for (const LayerInfo& layer : network.layers()) {
    if (layer.inbound.empty()) continue;  // an input
    const bool freezes = last.empty() ? std::ranges::find(head, layer.name) == head.end()
                                      : chosen.contains(layer.name);
    if (freezes) frozen.push_back(layer.name);
    if (!freezes) left += layer.parameters();
  }
  if (left == 0) {
    throw UsageError("--freeze ", flags.freeze,
                     ": no layer with weights is left to train; name an earlier layer");
  }
  return frozen;
}

std::vector<std::string> layers_frozen_by_file(const Network& network,
                                               const TrainOptions& options) {
  std::vector<std::string> frozen;
  if (!options.model_file || !options.tuning.freeze.empty()) return frozen;
  const Model& file = options.model_file->model;
  std::set<std::string> known;
  for (const LayerInfo& layer : file.network().layers()) known.insert(layer.name);
  for (const std::string& layer : new_layers(network, options.tuning)) known.erase(layer);
  int64_t left = 0;
  for (const LayerInfo& layer : network.layers()) {
    if (layer.weights.empty()) continue;
    const bool freezes = known.contains(layer.name) && !file.trainable(layer.name);
    if (freezes) frozen.push_back(layer.name);
    if (!freezes) left += layer.parameters();
  }
  if (!frozen.empty() && left == 0) {
    throw UsageError("--model ", options.model_file->path,
                     ": all layers with weights are frozen by the file; --freeze none trains "
                     "them, --classes auto adds a new classifier");
  }
  return frozen;
}

std::string feature_layer(const Network& network, const std::vector<std::string>& frozen,
                          const std::vector<std::string>& prepares) {
  std::set<std::string> fixed(frozen.begin(), frozen.end());
  fixed.insert(prepares.begin(), prepares.end());
  for (const NetworkInput& input : network.inputs()) fixed.insert(input.name);
  std::string last;
  for (const std::string& layer : network.bottlenecks()) {
    if (std::ranges::includes(fixed, with_ancestors(network, layer))) last = layer;
  }
  const bool is_frozen = std::ranges::find(frozen, last) != frozen.end();
  return is_frozen ? last : "";
}

std::map<std::string, double> head_rates(const Network& network, const TuningFlags& flags,
                                         double learning_rate) {
  if (!flags.head_learning_rate) return {};
  if (!(learning_rate > 0)) {
    throw UsageError("--head-learning-rate: expected a schedule that starts above 0, got ",
                     learning_rate);
  }
  const zoo::Head head = head_of(network, "--head-learning-rate");
  std::map<std::string, double> rates;
  for (const std::string& layer : head.layers) {
    rates[layer] = *flags.head_learning_rate / learning_rate;
  }
  return rates;
}

void take_file_weights(Model& model, const TrainOptions& options) {
  if (!options.model_file) return;
  model.copy_weights(options.model_file->model,
                     {.by_name = true, .except = new_layers(model.network(), options.tuning)});
}

LoadReport load_initial_weights(Model& model, const TrainOptions& options,
                                const std::function<void(const std::string&)>& tell) {
  const CheckpointFlags& flags = options.checkpoints;
  LoadOptions how{.by_name = flags.by_name || options.tuning.replaces_head(),
                  .skip_mismatch = flags.skip_mismatch,
                  .except = new_layers(model.network(), options.tuning)};
  LoadReport report;
  try {
    report = model.load_weights(flags.weights, how);
  } catch (const InvalidArgument& error) {
    std::string remedy;
    if (!how.by_name) remedy = "; --by-name takes the layers with equal names";
    if (how.by_name && !how.skip_mismatch) {
      remedy = "; --by-name --skip-mismatch leaves out layers of other shapes";
    }
    throw UsageError("--weights: ", error.what(), remedy);
  }
  if (!flags.by_name && !report.skipped.empty()) {
    throw UsageError("--weights ", flags.weights,
                     ": not all layers are in the file: ", join(report.skipped, "; "),
                     "; --by-name starts these with random weights");
  }
  for (const std::string& layer : how.except) {
    tell(concat("layer '", layer, "' is the new classifier and starts with random weights"));
  }
  for (const std::string& line : report.skipped) tell("not taken: " + line);
  for (const std::string& layer : report.unused) {
    if (how.except.contains(layer)) continue;
    tell(concat("not taken: layer '", layer, "' of the file has no counterpart in the model"));
  }
  return report;
}

}  // namespace pando::app

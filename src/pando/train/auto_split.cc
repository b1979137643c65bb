// SPDX-License-Identifier: MIT
#include "pando/train/auto_split.h"

#include <map>
#include <string_view>

#include "pando/base/error.h"
#include "pando/compiler/layer_names.h"

namespace pando::train {

namespace {

std::vector<LayerSeconds> layers_of(const Network& network) {
  std::vector<LayerSeconds> layers;
  std::map<std::string, size_t> seen;
  for (const StageAssignment& call : network.stage_assignment()) {
    const auto [place, is_new] = seen.emplace(call.layer, layers.size());
    if (is_new) {
      layers.push_back({call.layer, {}, !layers.empty()});
    } else {
      layers[place->second].can_start_a_stage = false;  // a split names a layer, not a call
    }
  }
  return layers;
}

}  // namespace

std::vector<LayerSeconds> layer_seconds(const Network& network, const profile::Trace& trace) {
  std::vector<LayerSeconds> layers = layers_of(network);
  std::vector<std::string> names;
  for (const LayerSeconds& layer : layers) names.push_back(layer.layer);
  const compiler::LayerNames finder(names);
  for (const profile::TraceTrack* track : trace.tracks()) {
    for (const profile::TraceEvent& event : track->events()) {
      if (event.kind != profile::EventKind::op) continue;
      std::string_view node = trace.name(event.name);
      node.remove_prefix(node.find(' ') + 1);  // removes the op
      const bool backward = compiler::LayerNames::is_backward(node);
      const int layer = finder.find(node);  // the loss counts for the last layer
      runtime::StageSeconds& seconds =
          layer < 0 ? layers.back().seconds : layers[static_cast<size_t>(layer)].seconds;
      (backward ? seconds.backward : seconds.forward) +=
          1e-9 * static_cast<double>(event.end - event.begin);
    }
  }
  for (LayerSeconds& layer : layers) {
    if (layer.seconds.forward == 0) layer.can_start_a_stage = false;
  }
  return layers;
}

MeasuredSplits choose_splits(const std::vector<LayerSeconds>& layers, int stages) {
  // Layers that cannot start a stage belong to the layer before them.
  std::vector<std::string> starts;
  std::vector<runtime::StageSeconds> parts;
  for (const LayerSeconds& layer : layers) {
    if (parts.empty() || layer.can_start_a_stage) {
      starts.push_back(layer.layer);
      parts.emplace_back();
    }
    parts.back().forward += layer.seconds.forward;
    parts.back().backward += layer.seconds.backward;
  }
  if (stages < 1 || static_cast<size_t>(stages) > parts.size()) {
    throw InvalidArgument("cannot split the model into ", stages, " pipeline stages: it has ",
                          parts.size(), " layers that can start one (", join(starts, ", "), ")");
  }
  std::vector<double> whole;
  for (const runtime::StageSeconds& part : parts) whole.push_back(part.forward + part.backward);
  MeasuredSplits chosen;
  chosen.seconds.emplace_back();
  const std::vector<int> cuts = runtime::balance_stages(whole, stages);
  for (size_t part = 0, cut = 0; part < parts.size(); ++part) {
    if (cut < cuts.size() && static_cast<size_t>(cuts[cut]) == part) {
      chosen.splits.push_back(starts[part]);
      chosen.seconds.emplace_back();
      ++cut;
    }
    chosen.seconds.back().forward += parts[part].forward;
    chosen.seconds.back().backward += parts[part].backward;
  }
  return chosen;
}

}  // namespace pando::train

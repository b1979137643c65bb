// Where a network can be cut in two, and the part behind the cut.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/nn/network.h"

namespace pando {

// A path that avoids the call has a step from a call before it to a call behind it, or ends before
// it.
bool Network::is_bottleneck(int call) const {
  const auto is_before = [&](int other) { return other < call; };
  if (call < static_cast<int>(first_layer_call())) return false;
  if (std::ranges::any_of(output_calls_, [&](int output) { return output <= call; })) return false;
  for (size_t i = static_cast<size_t>(call) + 1; i < calls_.size(); ++i) {
    if (std::ranges::any_of(calls_[i].inputs, is_before)) return false;
  }
  const int layer = calls_[static_cast<size_t>(call)].layer;
  return std::ranges::count(calls_, layer, &Call::layer) == 1;
}

std::vector<std::string> Network::bottlenecks() const {
  std::vector<std::string> names;
  for (int call = 0; call < static_cast<int>(calls_.size()); ++call) {
    if (is_bottleneck(call)) names.push_back(layer_name(call));
  }
  return names;
}

Network Network::from(const std::string& layer) const {
  const LayerInfo& info = this->layer(layer);  // throws if there is none
  int first = static_cast<int>(calls_.size()) - 1;
  while (layer_name(first) != layer) --first;
  if (!is_bottleneck(first)) {
    throw InvalidArgument(
        "from: expected a layer that every path from an input to an output leads ",
        "through, got '", layer, "'; these are ", join(bottlenecks(), ", "));
  }
  const SymbolicTensor input = Input(info.output_shape, {.name = layer});
  std::vector<SymbolicTensor> all(static_cast<size_t>(first) + 1, input);
  for (size_t i = all.size(); i < calls_.size(); ++i) all.push_back(result_of(i, all));
  std::vector<SymbolicTensor> outputs;
  for (const int call : output_calls_) outputs.push_back(all[static_cast<size_t>(call)]);
  return Network({input}, outputs);
}

}  // namespace pando

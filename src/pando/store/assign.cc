// SPDX-License-Identifier: MIT
#include "pando/store/assign.h"

#include <algorithm>
#include <map>
#include <optional>

namespace pando::store {

namespace {

// The consecutive expected weights of one layer.
struct ExpectedLayer {
  size_t first = 0;  // index of its first weight among all
  std::span<const ExpectedWeight> weights;
  const std::string& name() const { return weights.front().layer; }
};

std::vector<ExpectedLayer> group_layers(std::span<const ExpectedWeight> expected) {
  std::vector<ExpectedLayer> layers;
  for (size_t begin = 0; begin < expected.size();) {
    size_t end = begin + 1;
    while (end < expected.size() && expected[end].layer == expected[begin].layer) ++end;
    layers.push_back({begin, expected.subspan(begin, end - begin)});
    begin = end;
  }
  return layers;
}

std::vector<std::string> names_of(const LayerWeights& layer) {
  std::vector<std::string> names;
  for (const NamedWeight& weight : layer.weights) names.push_back(weight.name);
  return names;
}

std::vector<std::string> names_of(const ExpectedLayer& layer) {
  std::vector<std::string> names;
  for (const ExpectedWeight& weight : layer.weights) names.push_back(weight.name);
  return names;
}

// The index in the file's layer for each expected weight. Requires: the same number on both sides.
std::vector<size_t> match_weights(const ExpectedLayer& expected, const LayerWeights& found) {
  const std::vector<std::string> wanted = names_of(expected);
  const std::vector<std::string> have = names_of(found);
  std::vector<size_t> places(wanted.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::vector<std::string> a = wanted;
  std::vector<std::string> b = have;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const bool same_names = a == b && std::adjacent_find(a.begin(), a.end()) == a.end();
  if (!same_names) return places;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto at = std::find(have.begin(), have.end(), wanted[i]);
    places[i] = static_cast<size_t>(at - have.begin());
  }
  return places;
}

// Points the sources of one layer into the file, or says what does not fit.
std::optional<std::string> assign_layer(const ExpectedLayer& expected, const LayerWeights& found,
                                        std::vector<const Tensor*>& sources) {
  if (found.weights.size() != expected.weights.size()) {
    return concat("layer '", expected.name(), "' has ", expected.weights.size(), " weights (",
                  join(names_of(expected), ", "), ") but layer '", found.layer,
                  "' of the file has ", found.weights.size(), " (", join(names_of(found), ", "),
                  ")");
  }
  const std::vector<size_t> places = match_weights(expected, found);
  for (size_t i = 0; i < places.size(); ++i) {
    const ExpectedWeight& want = expected.weights[i];
    const NamedWeight& have = found.weights[places[i]];
    if (want.shape != have.value.shape()) {
      return concat("layer '", want.layer, "': weight '", want.name, "' has the shape ", want.shape,
                    " but '", found.layer, "/", have.name, "' of the file has ",
                    have.value.shape());
    }
  }
  for (size_t i = 0; i < places.size(); ++i) {
    sources[expected.first + i] = &found.weights[places[i]].value;
  }
  return std::nullopt;
}

std::string place_of(const WeightsFile& file) {
  return file.path.empty() ? "weights" : concat("weights file '", file.path, "'");
}

std::vector<const LayerWeights*> layers_with_weights(const WeightsFile& file) {
  std::vector<const LayerWeights*> layers;
  for (const LayerWeights& layer : file.layers) {
    if (!layer.weights.empty()) layers.push_back(&layer);
  }
  return layers;
}

Assignment plan_strict(std::span<const ExpectedWeight> expected, const WeightsFile& file) {
  const std::vector<ExpectedLayer> wanted = group_layers(expected);
  const std::vector<const LayerWeights*> found = layers_with_weights(file);
  if (wanted.size() != found.size()) {
    throw InvalidArgument(place_of(file), ": expected ", wanted.size(),
                          " layers with weights, as in the model, got ", found.size(),
                          "; load by name to use only the layers with equal names");
  }
  Assignment plan{.sources = std::vector<const Tensor*>(expected.size(), nullptr)};
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto misfit = assign_layer(wanted[i], *found[i], plan.sources);
    if (misfit) throw InvalidArgument(place_of(file), ": ", *misfit);
  }
  return plan;
}

Assignment plan_by_name(std::span<const ExpectedWeight> expected, const WeightsFile& file,
                        bool skip_mismatch) {
  Assignment plan{.sources = std::vector<const Tensor*>(expected.size(), nullptr)};
  std::map<std::string, const LayerWeights*> found;
  for (const LayerWeights* layer : layers_with_weights(file)) found.emplace(layer->layer, layer);
  std::map<std::string, const LayerWeights*> unused = found;
  for (const ExpectedLayer& layer : group_layers(expected)) {
    const auto at = found.find(layer.name());
    if (at == found.end()) {
      plan.skipped.push_back(concat("layer '", layer.name(), "': not in the file"));
      continue;
    }
    const auto misfit = assign_layer(layer, *at->second, plan.sources);
    if (misfit && !skip_mismatch) throw InvalidArgument(place_of(file), ": ", *misfit);
    if (misfit) {
      plan.skipped.push_back(*misfit);
    } else {
      unused.erase(layer.name());
    }
  }
  for (const LayerWeights* layer : layers_with_weights(file)) {
    if (unused.contains(layer->layer)) plan.unused.push_back(layer->layer);
  }
  return plan;
}

}  // namespace

Assignment plan_assignment(std::span<const ExpectedWeight> expected, const WeightsFile& file,
                           const AssignOptions& options) {
  if (options.mode == MatchMode::by_name) {
    return plan_by_name(expected, file, options.skip_mismatch);
  }
  if (options.skip_mismatch) {
    throw InvalidArgument(
        "load weights: skip_mismatch requires by_name: layers that are matched by order cannot be ",
        "skipped");
  }
  return plan_strict(expected, file);
}

}  // namespace pando::store

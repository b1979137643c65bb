// SPDX-License-Identifier: MIT
#include "pando/train/safetensors_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "pando/base/error.h"
#include "pando/store/safetensors.h"
#include "pando/zoo/torchvision_names.h"

namespace pando {

namespace {

using Modules = std::map<std::string, TorchvisionModule>;  // by layer
using Tensors = std::map<std::string, const Tensor*>;

constexpr float kMostHalf = 65504;

Modules modules_of(const std::string& name) {
  Modules modules;
  for (const TorchvisionModule& each : torchvision_modules(name)) modules[each.layer] = each;
  return modules;
}

// Our layers with weights are the same as in torchvision's network of this name.
bool has_layers_of(const Network& network, const Modules& modules) {
  size_t found = 0;
  for (const LayerInfo& layer : network.layers()) {
    if (layer.weights.empty()) continue;
    if (modules.contains(layer.name)) {
      ++found;
    } else if (!is_only_ours(layer.name)) {
      return false;
    }
  }
  return found == modules.size();
}

// The modules of the network; nothing: torchvision does not have it.
std::optional<Modules> known_modules(const Network& network) {
  for (const std::string& name : torchvision_networks()) {
    Modules modules = modules_of(name);
    if (has_layers_of(network, modules)) return modules;
  }
  return std::nullopt;
}

Tensor halved(Tensor value) {
  const bool fits =
      value.dtype() == DType::f32 && value.shape().rank() > 1 &&
      std::ranges::all_of(value.f32(), [](float number) { return std::abs(number) <= kMostHalf; });
  return fits ? cast(value, DType::f16) : value;
}

void add_torchvision(const Model& model, store::SafetensorsFile& file) {
  const Network& network = model.network();
  const std::optional<Modules> modules = known_modules(network);
  if (!modules) {
    throw Unsupported("torchvision has no network with the layers of '", model.name(),
                      "'; it has those of ", join(torchvision_networks(), ", "),
                      "; write the file with our names");
  }
  for (const LayerInfo& layer : network.layers()) {
    for (const nn::WeightSpec& weight : layer.weights) {
      const std::string name = concat(layer.name, "/", weight.name);
      const Tensor ours = cast(model.get_weight(name), DType::f32);
      if (is_only_ours(layer.name) && !modules->contains(layer.name)) {
        if (std::ranges::equal(ours.f32(), identity_weight(weight).f32())) continue;
        throw Unsupported("'", name,
                          "': torchvision does not project this shortcut, so that a "
                          "trained projection cannot be written with its names; write the file "
                          "with our names");
      }
      const TorchvisionModule& module = modules->at(layer.name);
      file.tensors.push_back({torchvision_key(module.module, weight.name),
                              to_torchvision(network, module, weight, ours)});
    }
  }
  file.metadata["format"] = "pt";
}

store::LayerWeights layer_of_torchvision(const Network& network, const LayerInfo& layer,
                                         const Modules& modules, const Tensors& tensors,
                                         std::vector<std::string>& used) {
  store::LayerWeights entry{.layer = layer.name, .weights = {}};
  const auto module = modules.find(layer.name);
  for (const nn::WeightSpec& weight : layer.weights) {
    if (module == modules.end()) {
      entry.weights.push_back({weight.name, identity_weight(weight)});
      continue;
    }
    const auto found = tensors.find(torchvision_key(module->second.module, weight.name));
    if (found == tensors.end()) continue;  // plan_assignment() reports what is missing
    used.push_back(found->first);
    const Tensor theirs = cast(*found->second, DType::f32);
    entry.weights.push_back({weight.name, from_torchvision(network, layer, weight, theirs)});
  }
  return entry;
}

// The layers of the network first, in their order, then those that only the file has.
store::WeightsFile by_our_names(const Network& network, const Tensors& tensors) {
  std::map<std::string, store::LayerWeights> layers;
  for (const auto& [name, tensor] : tensors) {
    const size_t slash = name.rfind('/');
    const std::string layer = slash == std::string::npos ? name : name.substr(0, slash);
    const std::string weight = slash == std::string::npos ? name : name.substr(slash + 1);
    layers[layer].layer = layer;
    const bool is_integer = tensor->dtype() == DType::i32 || tensor->dtype() == DType::u8;
    layers[layer].weights.push_back({weight, is_integer ? cast(*tensor, DType::f32) : *tensor});
  }
  store::WeightsFile file;
  for (const LayerInfo& layer : network.layers()) {
    const auto found = layers.find(layer.name);
    if (found == layers.end()) continue;
    file.layers.push_back(std::move(found->second));
    layers.erase(found);
  }
  for (auto& [name, layer] : layers) file.layers.push_back(std::move(layer));
  return file;
}

}  // namespace

void save_safetensors(const Model& model, const std::string& path,
                      const SafetensorsOptions& options) {
  store::SafetensorsFile file;
  file.metadata = to_metadata(model.facts());
  if (options.names == WeightNames::torchvision) {
    add_torchvision(model, file);
  } else {
    for (const std::string& name : model.weight_names()) {
      file.tensors.push_back({name, model.get_weight(name)});
    }
  }
  if (options.half) {
    for (store::NamedWeight& tensor : file.tensors) tensor.value = halved(std::move(tensor.value));
  }
  store::write_safetensors(path, file);
}

store::WeightsFile read_safetensors_weights(const Network& network, const std::string& path) {
  const store::SafetensorsFile file = store::read_safetensors(path);
  Tensors tensors;
  for (const store::NamedWeight& tensor : file.tensors) {
    // PyTorch counts the batches of a normalisation; the count has no effect.
    if (!tensor.name.ends_with("num_batches_tracked")) tensors[tensor.name] = &tensor.value;
  }
  const std::optional<Modules> modules = known_modules(network);
  const bool is_theirs = modules && std::ranges::any_of(*modules, [&](const auto& module) {
                           return tensors.contains(module.second.module + ".weight");
                         });
  store::WeightsFile weights;
  if (is_theirs) {
    std::vector<std::string> used;
    for (const LayerInfo& layer : network.layers()) {
      if (layer.weights.empty()) continue;
      weights.layers.push_back(layer_of_torchvision(network, layer, *modules, tensors, used));
    }
    for (const std::string& name : used) tensors.erase(name);
    for (const auto& [name, tensor] : tensors) weights.layers.push_back({name, {{name, *tensor}}});
  } else {
    weights = by_our_names(network, tensors);
  }
  weights.path = path;
  return weights;
}

}  // namespace pando

// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/format.h>

#include "pando/base/strings.h"
#include "pando/nn/network.h"

namespace pando {

namespace {

std::string batch_shape(const Shape& shape) {
  std::string text = "(None";
  for (const int64_t extent : shape) text += concat(", ", extent);
  return text + ")";
}

// "bn_2, shortcut" where a layer joins several; in a chain the line above says it.
std::string connected_to(const LayerInfo& info) {
  return info.inbound.size() > 1 ? join(info.inbound, ", ") : "";
}

}  // namespace

std::string Network::summary(const std::string& model_name,
                             const std::set<std::string>& frozen) const {
  size_t name_width = 24;
  bool joins = false;
  for (const LayerInfo& info : layers_) {
    name_width = std::max(name_width, info.name.size() + info.class_name.size() + 3);
    joins = joins || info.inbound.size() > 1;
  }
  const size_t width = name_width + 26 + 12 + (joins ? 30 : 0);
  const auto row = [&](const std::string& a, const std::string& b, const std::string& c,
                       const std::string& d) {
    const std::string line = fmt::format(" {:<{}} {:<24} {:<10} {}", a, name_width, b, c, d);
    return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  std::string text = fmt::format("Model: \"{}\"\n{}\n", model_name, std::string(width, '_'));
  text += row("Layer (type)", "Output Shape", "Param #", joins ? "Connected to" : "");
  text += std::string(width, '=') + "\n";
  int64_t frozen_parameters = parameters() - trainable_parameters();
  for (const LayerInfo& info : layers_) {
    text += row(info.name + " (" + info.class_name + ")", batch_shape(info.output_shape),
                std::to_string(info.parameters()), connected_to(info));
    if (!frozen.contains(info.name)) continue;
    for (const nn::WeightSpec& weight : info.weights) {
      frozen_parameters += weight.is_state() ? 0 : weight.shape.elements();
    }
  }
  text += std::string(width, '=') + "\n";
  text +=
      fmt::format("Total params: {}\nTrainable params: {}\nNon-trainable params: {}\n",
                  with_thousands(parameters()), with_thousands(parameters() - frozen_parameters),
                  with_thousands(frozen_parameters));
  return text + std::string(width, '_') + "\n";
}

}  // namespace pando

// SPDX-License-Identifier: MIT
#include "pando/compiler/layer_names.h"

namespace pando::compiler {

namespace {

constexpr std::string_view kGradient = "/grad";

std::string_view without_gradient(std::string_view node) {
  if (node.ends_with(kGradient)) node.remove_suffix(kGradient.size());
  return node;
}

}  // namespace

LayerNames::LayerNames(const std::vector<std::string>& layers) : names_(layers) {
  for (size_t i = 0; i < layers.size(); ++i) numbers_.emplace(layers[i], static_cast<int>(i));
}

int LayerNames::find(std::string_view node) const {
  for (std::string_view name = without_gradient(node); !name.empty();) {
    if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
    const size_t slash = name.rfind('/');
    name = slash == std::string_view::npos ? "" : name.substr(0, slash);
  }
  return -1;
}

std::string LayerNames::name_of(std::string_view node) const {
  const int number = find(node);
  return number < 0 ? std::string(without_gradient(node)) : names_[static_cast<size_t>(number)];
}

bool LayerNames::is_backward(std::string_view node) { return node.ends_with(kGradient); }

}  // namespace pando::compiler

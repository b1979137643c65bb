// The only list of layers that are imported, and what is not in it.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/keras/import.h"
#include "pando/keras/importer_impl.h"

namespace pando::keras {
namespace {

std::string unknown_line(const std::string& class_name, const std::vector<std::string>& names) {
  constexpr size_t kShown = 20;
  std::vector<std::string> shown(names.begin(), names.begin() + std::min(kShown, names.size()));
  if (names.size() > kShown) shown.push_back("...");
  return concat(class_name, " (", names.size(), "): ", join(shown, ", "));
}

void collect_unknown(const ModelConfig& model,
                     std::map<std::string, std::vector<std::string>>& unknown) {
  for (const LayerConfig& layer : model.layers) {
    if (layer.model) {
      collect_unknown(*layer.model, unknown);
      continue;
    }
    if (layer.is_input()) continue;
    std::string name = layer.class_name;
    const bool known =
        all_imports().contains(layer.class_name) && !is_unknown_function(layer, name);
    if (!known) unknown[name].push_back(layer.name);
  }
}

}  // namespace

const std::map<std::string, MakeLayer>& all_imports() {
  static const std::map<std::string, MakeLayer> table = [] {
    std::map<std::string, MakeLayer> all;
    for (const auto& family : {product_imports(), pooling_imports(), element_imports(),
                               shape_imports(), merging_imports(), function_imports()}) {
      for (const LayerImport& one : family) all.emplace(one.class_name, one.make);
    }
    return all;
  }();
  return table;
}

std::vector<std::string> unknown_lines(const ModelConfig& model) {
  std::map<std::string, std::vector<std::string>> unknown;
  collect_unknown(model, unknown);
  std::vector<std::string> lines;
  for (const auto& [class_name, names] : unknown) lines.push_back(unknown_line(class_name, names));
  return lines;
}

std::vector<std::string> unknown_layers(const Json& config) {
  return unknown_lines(parse_model_config(config));
}

}  // namespace pando::keras

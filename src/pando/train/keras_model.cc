// SPDX-License-Identifier: MIT
#include "pando/train/keras_model.h"

#include <vector>

#include "pando/base/error.h"
#include "pando/keras/export.h"
#include "pando/keras/files.h"
#include "pando/keras/import.h"
#include "pando/keras/write_files.h"

namespace pando {
namespace {

std::string format_by_suffix(const std::string& path) {
  const std::string lower = to_lower(path);
  for (const auto& [suffix, format] : {std::pair<const char*, const char*>(".h5", "h5"),
                                       {".hdf5", "h5"},
                                       {".keras", "keras"},
                                       {".json", "tfjs"}}) {
    if (lower.ends_with(suffix)) return format;
  }
  throw InvalidArgument("'", path, "': expected a file that ends in .h5, .hdf5, .keras or .json");
}

}  // namespace

Model load_keras(const std::string& path, const KerasLoadOptions& options) {
  const keras::ModelFile file = keras::read_model_file(path);
  const keras::ImportedNetwork imported =
      keras::import_network(file.config, file.major, *file.weights, {.extents = options.extents});
  Model model(imported.network, options.model);
  const std::map<std::string, Tensor> by_name(imported.weights.begin(), imported.weights.end());
  std::vector<Tensor> weights;
  for (const std::string& name : model.weight_names()) weights.push_back(by_name.at(name));
  model.set_weights(weights);
  for (const std::string& layer : imported.frozen) {
    if (options.freeze) model.set_trainable(layer, false);
  }
  ModelFacts facts = facts_in(file.metadata, path);
  if (facts.origin.producer.empty()) facts.origin.producer = file.producer;
  model.set_facts(std::move(facts));
  return model;
}

void save_keras(const Model& model, const std::string& path, const KerasSaveOptions& options) {
  const std::string format = options.format.empty() ? format_by_suffix(path) : options.format;
  const bool archive = format == "keras";
  const bool tfjs = format == "tfjs";
  if (!archive && !tfjs && format != "h5") {
    throw InvalidArgument("'", path, "': format: expected h5, keras or tfjs, got '", format, "'");
  }
  keras::ExportOptions exporting{.name = model.name(), .major = archive ? 3 : 2};
  for (const LayerInfo& layer : model.network().layers()) {
    if (!layer.weights.empty() && !model.trainable(layer.name)) exporting.frozen.insert(layer.name);
  }
  std::map<std::string, Tensor> weights;
  for (const std::string& name : model.weight_names()) {
    weights.emplace(name, cast(model.get_weight(name), DType::f32));
  }
  const keras::ExportedModel exported = keras::export_network(model.network(), weights, exporting);
  keras::WriteOptions writing{.metadata = to_metadata(model.facts()), .half = options.half};
  for (const auto& [key, value] : options.metadata) writing.metadata[key] = value;
  const auto write = archive ? keras::write_keras_archive
                     : tfjs  ? keras::write_tfjs_model
                             : keras::write_hdf5_model;
  write(path, exported, writing);
}

}  // namespace pando

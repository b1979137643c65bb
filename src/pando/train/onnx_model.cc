// SPDX-License-Identifier: MIT
#include "pando/train/onnx_model.h"

#include <span>
#include <vector>

#include "pando/base/error.h"
#include "pando/onnx/export.h"
#include "pando/onnx/half_weights.h"
#include "pando/onnx/import.h"
#include "pando/store/atomic_file.h"

namespace pando {

Model load_onnx(const std::string& path, const OnnxLoadOptions& options) {
  const onnx::ModelProto file = onnx::read_model(path);
  const onnx::ImportedNetwork imported = onnx::import_network(file, {.extents = options.extents});
  Model model(imported.network, options.model);
  std::map<std::string, Tensor> by_name(imported.weights.begin(), imported.weights.end());
  std::vector<Tensor> weights;
  for (const std::string& name : model.weight_names()) weights.push_back(by_name.at(name));
  model.set_weights(weights);
  ModelFacts facts = facts_in(file.metadata, path);
  if (facts.origin.producer.empty()) {
    facts.origin.producer = std::string(trim(concat(file.producer, " ", file.producer_version)));
  }
  model.set_facts(std::move(facts));
  return model;
}

void save_onnx(const Model& model, const std::string& path, const OnnxSaveOptions& options) {
  std::map<std::string, Tensor> weights;
  for (const std::string& name : model.weight_names()) {
    weights.emplace(name, cast(model.get_weight(name), DType::f32));
  }
  std::map<std::string, std::string> metadata = to_metadata(model.facts());
  for (const auto& [key, value] : options.metadata) metadata[key] = value;
  const auto bytes_with = [&](int64_t opset) {
    onnx::ModelProto file = onnx::export_network(
        model.network(), weights,
        {.opset = opset, .metadata = metadata, .name = model.name(), .producer_version = {}});
    if (options.half) onnx::halve_weights(file);
    return onnx::to_bytes(file);
  };
  std::vector<uint8_t> bytes;
  try {
    bytes = bytes_with(options.opset == 0 ? 13 : options.opset);
  } catch (const Unsupported&) {
    if (options.opset != 0) throw;
    bytes = bytes_with(17);
  }
  store::replace_file(path, {std::as_bytes(std::span(bytes))});
}

}  // namespace pando

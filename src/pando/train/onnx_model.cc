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

namespace {

// The extents of the options, and height and width of pictures that these leave open.
std::map<std::string, int64_t> bound_extents(const onnx::ModelProto& file, const ModelFacts& facts,
                                             const OnnxLoadOptions& options) {
  std::map<std::string, int64_t> extents = options.extents;
  int64_t sides[2] = {options.height, options.width};
  if (facts.pictures && sides[0] == 0) sides[0] = facts.pictures->height;
  if (facts.pictures && sides[1] == 0) sides[1] = facts.pictures->width;
  for (const onnx::ValueInfoProto& input : file.graph.inputs) {
    if (input.shape.size() != 4) continue;
    const size_t first = input.shape[3].value == 1 || input.shape[3].value == 3 ? 1 : 2;
    for (size_t i = 0; i < 2; ++i) {
      const onnx::Dimension& dimension = input.shape[first + i];
      const std::string place = concat(input.name, ":", first + i);
      const bool is_named = !dimension.name.empty() && extents.contains(dimension.name);
      if (dimension.is_free() && !is_named && sides[i] > 0) extents.emplace(place, sides[i]);
    }
  }
  return extents;
}

}  // namespace

Model load_onnx(const std::string& path, const OnnxLoadOptions& options) {
  const onnx::ModelProto file = onnx::read_model(path);
  ModelFacts facts = facts_in(file.metadata, path);
  const onnx::ImportedNetwork imported =
      onnx::import_network(file, {.extents = bound_extents(file, facts, options)});
  Model model(imported.network, options.model);
  std::map<std::string, Tensor> by_name(imported.weights.begin(), imported.weights.end());
  std::vector<Tensor> weights;
  for (const std::string& name : model.weight_names()) weights.push_back(by_name.at(name));
  model.set_weights(weights);
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

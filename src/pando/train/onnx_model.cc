// SPDX-License-Identifier: MIT
#include "pando/train/onnx_model.h"

#include <span>
#include <vector>

#include "pando/base/error.h"
#include "pando/onnx/export.h"
#include "pando/onnx/import.h"
#include "pando/store/atomic_file.h"

namespace pando {

Model load_onnx(const std::string& path, const OnnxLoadOptions& options) {
  const onnx::ImportedNetwork imported =
      onnx::import_network(onnx::read_model(path), {.extents = options.extents});
  Model model(imported.network, options.model);
  std::map<std::string, Tensor> by_name(imported.weights.begin(), imported.weights.end());
  std::vector<Tensor> weights;
  for (const std::string& name : model.weight_names()) weights.push_back(by_name.at(name));
  model.set_weights(weights);
  return model;
}

void save_onnx(const Model& model, const std::string& path, const OnnxSaveOptions& options) {
  std::map<std::string, Tensor> weights;
  for (const std::string& name : model.weight_names()) {
    weights.emplace(name, cast(model.get_weight(name), DType::f32));
  }
  const auto bytes_with = [&](int64_t opset) {
    return onnx::to_bytes(onnx::export_network(model.network(), weights,
                                               {.opset = opset,
                                                .metadata = options.metadata,
                                                .name = model.name(),
                                                .producer_version = {}}));
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

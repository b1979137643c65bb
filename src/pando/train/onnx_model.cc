// SPDX-License-Identifier: MIT
#include "pando/train/onnx_model.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "pando/base/error.h"
#include "pando/onnx/export.h"
#include "pando/onnx/half_weights.h"
#include "pando/onnx/import.h"
#include "pando/store/atomic_file.h"
#include "pando/train/imported_model_impl.h"

namespace pando {

namespace {

// The extents of the options, and height and width of pictures that these leave open.
std::map<std::string, int64_t> bound_extents(const onnx::ModelProto& file, const ModelFacts& facts,
                                             const LoadModelOptions& options) {
  std::map<std::string, int64_t> extents = options.extents;
  int64_t sides[2] = {options.height, options.width};
  if (facts.pictures && sides[0] == 0) sides[0] = facts.pictures->height;
  if (facts.pictures && sides[1] == 0) sides[1] = facts.pictures->width;
  for (int64_t& side : sides) side = side == 0 ? options.usual_side : side;
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

using Hashes = std::map<std::string, size_t>;

Hashes hashes_of(const onnx::ImportedNetwork& imported) {
  Hashes hashes;
  for (const auto& [name, tensor] : imported.weights) {
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
    hashes.emplace(name, std::hash<std::string_view>()(bytes));
  }
  return hashes;
}

// The file again at other extents. A file may compute constants from extents; a model has only one
// value of each, so that all of them must be the same at every size.
class OnnxSizes {
 public:
  OnnxSizes(onnx::ModelProto file, onnx::ImportOptions own)
      : file_(std::move(file)), own_(std::move(own)) {}

  Network network(const std::vector<std::string>& inputs,
                  const std::vector<std::vector<int64_t>>& orders,
                  const std::vector<Shape>& shapes) {
    onnx::ImportOptions options = own_;
    for (size_t i = 0; i < inputs.size(); ++i) {
      for (int axis = 0; axis < shapes[i].rank(); ++axis) {
        const int64_t place = orders[i][static_cast<size_t>(axis) + 1];
        options.extents[concat(inputs[i], ":", place)] = shapes[i][axis];
      }
    }
    const onnx::ImportedNetwork other = onnx::import_network(file_, options);
    if (hashes_.empty()) hashes_ = hashes_of(onnx::import_network(file_, own_));
    for (const auto& [name, hash] : hashes_of(other)) {
      const auto known = hashes_.find(name);
      if (known == hashes_.end() || known->second == hash) continue;
      throw Unsupported("'", name, "': the file computes it from the extents of the input; load ",
                        "the file with this size");
    }
    return other.network;
  }

 private:
  onnx::ModelProto file_;
  onnx::ImportOptions own_;
  Hashes hashes_;  // of the weights at the model's own size, made when first needed
};

OpenSizes onnx_sizes_of(const onnx::ModelProto& file, const onnx::ImportedNetwork& imported,
                        const onnx::ImportOptions& own) {
  OpenSizes sizes;
  std::vector<std::string> inputs;
  bool any = false;
  for (size_t i = 0; i < imported.network.inputs().size(); ++i) {
    inputs.push_back(imported.network.inputs()[i].name);
    const auto input =
        std::ranges::find(file.graph.inputs, inputs.back(), &onnx::ValueInfoProto::name);
    std::vector<bool>& axes = sizes.axes.emplace_back();
    const std::vector<int64_t>& order = imported.input_orders[i];
    for (size_t axis = 1; axis < order.size(); ++axis) {
      axes.push_back(input->shape[static_cast<size_t>(order[axis])].is_free());
      any = any || axes.back();
    }
  }
  if (!any) return {};
  sizes.network = [kept = std::make_shared<OnnxSizes>(file, own), inputs,
                   orders = imported.input_orders](const std::vector<Shape>& shapes) {
    return kept->network(inputs, orders, shapes);
  };
  return sizes;
}

}  // namespace

Model load_onnx(const std::string& path, const LoadModelOptions& options) {
  const onnx::ModelProto file = onnx::read_model(path);
  ModelFacts facts = facts_in(file.metadata, path);
  const onnx::ImportOptions importing{.extents = bound_extents(file, facts, options)};
  onnx::ImportedNetwork imported =
      imported_from(path, [&] { return onnx::import_network(file, importing); });
  Model model = model_of_import(imported, options);
  model.set_open_sizes(onnx_sizes_of(file, imported, importing));
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
    onnx::ModelProto file = onnx::export_network(model.network(), weights,
                                                 {.opset = opset,
                                                  .metadata = metadata,
                                                  .name = model.name(),
                                                  .producer_version = {},
                                                  .batch = options.batch});
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

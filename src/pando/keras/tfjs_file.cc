// Layers models of tfjs: model.json and shards of weights.
// SPDX-License-Identifier: MIT
#include <cstring>
#include <filesystem>

#include "pando/base/checked.h"
#include "pando/base/error.h"
#include "pando/base/memory_limit.h"
#include "pando/base/paths.h"
#include "pando/data/sources/gzip.h"
#include "pando/keras/files.h"
#include "pando/keras/files_impl.h"

namespace pando::keras {
namespace {

class ShardFiles : public ShardReader {
 public:
  ShardFiles(std::filesystem::path folder, std::string place)
      : folder_(std::move(folder)), place_(std::move(place)) {}
  std::vector<uint8_t> read(const std::string& name) const override {
    if (!lies_inside(folder_, name)) {
      throw IoError(place_, ": weightsManifest: expected a file beside the model, got '",
                    name.substr(0, 200), "', which is or leads elsewhere; copy it to the model");
    }
    return data::read_file((folder_ / name).string());
  }

 private:
  std::filesystem::path folder_;
  std::string place_;
};

// How the elements of a weight are stored: value = stored * scale + min.
struct StoredForm {
  std::string dtype;
  bool is_quantised = false;
  double scale = 1;
  double min = 0;
};

StoredForm form_of_weight(const Json& weight) {
  StoredForm form{.dtype = weight.get<std::string>("dtype")};
  if (const Json* quantization = weight.find("quantization")) {
    form.is_quantised = true;
    form.dtype = quantization->get<std::string>("dtype");
    form.scale = quantization->get<double>("scale", 1);
    form.min = quantization->get<double>("min", 0);
  }
  return form;
}

size_t bytes_of_element(const std::string& dtype, const std::string& place) {
  if (dtype == "float32" || dtype == "int32") return 4;
  if (dtype == "float16" || dtype == "uint16") return 2;
  if (dtype == "uint8" || dtype == "bool") return 1;
  throw IoError(place, ": dtype: expected float32, float16, uint16, uint8, int32 or bool, got ",
                dtype.substr(0, 40));
}

template <typename T>
void widen(std::span<const uint8_t> bytes, const StoredForm& form, std::span<float> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    T stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(T), sizeof(T));
    to[i] = static_cast<float>(static_cast<double>(stored) * form.scale + form.min);
  }
}

Tensor tensor_of(std::span<const uint8_t> bytes, const StoredForm& form, const Shape& shape) {
  if (form.dtype == "float16") {
    Tensor half(DType::f16, shape);
    if (!bytes.empty()) std::memcpy(half.data(), bytes.data(), bytes.size());
    return cast(half, DType::f32);
  }
  if (form.dtype == "int32" && !form.is_quantised) {
    Tensor integers(DType::i32, shape);
    if (!bytes.empty()) std::memcpy(integers.data(), bytes.data(), bytes.size());
    return integers;
  }
  Tensor tensor(DType::f32, shape);
  if (form.dtype == "float32") {
    if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  } else if (form.dtype == "int32") {
    widen<int32_t>(bytes, form, tensor.f32());
  } else if (form.dtype == "uint16") {
    widen<uint16_t>(bytes, form, tensor.f32());
  } else {
    widen<uint8_t>(bytes, form, tensor.f32());
  }
  return tensor;
}

// The shards of a group hold its weights one after the other.
void read_group(const Json& group, const ShardReader& shards, const std::string& place,
                NamedTensors& weights) {
  std::vector<uint8_t> bytes;
  for (const auto& path : group.get<std::vector<std::string>>("paths")) {
    const std::vector<uint8_t> shard = shards.read(path);
    require_memory(concat("the weights of ", place),
                   static_cast<int64_t>(bytes.size() + shard.size()));
    bytes.insert(bytes.end(), shard.begin(), shard.end());
  }
  size_t at = 0;
  for (const Json& weight : group.at("weights").items()) {
    const auto name = weight.get<std::string>("name");
    const std::string where = concat(place, ": weight '", name.substr(0, 200), "'");
    const Shape shape(weight.get<std::vector<int64_t>>("shape"));
    const StoredForm form = form_of_weight(weight);
    std::optional<int64_t> size = static_cast<int64_t>(bytes_of_element(form.dtype, where));
    for (const int64_t extent : shape) {
      size = size && extent >= 0 ? product_of({*size, extent}) : std::nullopt;
    }
    if (!size || static_cast<uint64_t>(*size) > bytes.size() - at) {
      throw IoError(where, ": the shape ", shape, " needs more than the ", bytes.size() - at,
                    " bytes that are left of the shards");
    }
    const auto count = static_cast<size_t>(*size);
    weights.emplace_back(name, tensor_of(std::span(bytes).subspan(at, count), form, shape));
    at += count;
  }
  if (at != bytes.size()) {
    throw IoError(place, ": weightsManifest: ", bytes.size() - at,
                  " bytes of the shards belong to no weight");
  }
}

}  // namespace

ModelFile parse_tfjs_model(const Json& model, const ShardReader& shards, const std::string& place) {
  if (model.get<std::string>("format", "layers-model") != "layers-model" ||
      model.find("modelTopology") == nullptr) {
    throw Unsupported(place, ": expected a layers model of tfjs, got ",
                      model.get<std::string>("format", "no modelTopology").substr(0, 40),
                      "; a graph model has no layers");
  }
  const Json& topology = model.at("modelTopology");
  ModelFile file;
  const Json* config = topology.find("model_config");
  file.config = config == nullptr ? topology : *config;
  if (const Json* version = topology.find("keras_version")) {
    std::string text = version->get<std::string>();
    file.producer = "Keras " + text;
    if (text.starts_with("tfjs-layers")) text = "2";
    file.major = major_version(text);
  }
  if (const Json* training = topology.find("training_config")) file.training = *training;
  if (const Json* metadata = model.find("userDefinedMetadata")) {
    if (metadata->is_object()) file.metadata = texts_of(*metadata);
  }
  NamedTensors weights;
  if (const Json* manifest = model.find("weightsManifest")) {
    for (const Json& group : manifest->items()) read_group(group, shards, place, weights);
  }
  file.weights = named_weights(std::move(weights), place);
  return file;
}

ModelFile read_tfjs_model(const std::string& path) {
  const std::vector<uint8_t> bytes = data::read_file(path);
  const Json model = parse_json(std::string(bytes.begin(), bytes.end()), path, "model.json");
  const ShardFiles shards(std::filesystem::path(path).parent_path(), path);
  return parse_tfjs_model(model, shards, path);
}

}  // namespace pando::keras

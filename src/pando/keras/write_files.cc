// SPDX-License-Identifier: MIT
#include "pando/keras/write_files.h"

#include <filesystem>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/data/sources/zip.h"
#include "pando/data/tfrecord/crc32c.h"
#include "pando/keras/weights.h"
#include "pando/store/atomic_file.h"
#include "pando/store/hdf5_lists.h"
#include "pando/store/hdf5_writer.h"
#include "pando/tensor/half.h"

namespace pando::keras {
namespace {

constexpr const char* kVersion2 = "2.15.0";
constexpr const char* kVersion3 = "3.4.1";

size_t bytes_of_weights(const ExportedModel& model) {
  size_t bytes = 0;
  for (const ExportedLayer& layer : model.layers) {
    for (const auto& [name, tensor] : layer.weights) bytes += tensor.bytes();
  }
  return bytes;
}

Tensor stored(const Tensor& tensor, const WriteOptions& options) {
  const bool half = options.half && may_be_stored_in_half(tensor.shape().rank(), tensor.f32());
  return half ? cast(tensor, DType::f16) : tensor;
}

std::span<const uint8_t> bytes_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}
std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The number of classes' layers so far: conv2d, conv2d_1, ...
std::string counted_name(const std::string& class_name, std::map<std::string, int>& used) {
  const std::string stem = snake_case(class_name);
  const int number = used[stem]++;
  return number == 0 ? stem : concat(stem, "_", number);
}

// Other content has another name: a writer that ends between the two files leaves the former model
// whole, and files of others stay.
std::filesystem::path shard_beside(const std::string& path, std::span<const std::byte> content) {
  std::filesystem::path shard = path;
  const std::string checksum = fmt::format("{:08x}", data::crc32c(bytes_of(content)));
  return shard.replace_filename(concat(shard.stem().string(), "-", checksum, ".bin"));
}

}  // namespace

void write_hdf5_model(const std::string& path, const ExportedModel& model,
                      const WriteOptions& options) {
  store::Hdf5Writer hdf5 = store::Hdf5Writer::create(path, bytes_of_weights(model));
  for (const auto& [key, value] : options.metadata) hdf5.write_string("/", key, value);
  hdf5.write_string("/", "backend", "tensorflow");
  hdf5.write_string("/", "keras_version", kVersion2);
  hdf5.write_string("/", "model_config", config_of_2(model).dump());
  const std::string root = "/model_weights";
  hdf5.make_group(root);
  hdf5.write_string(root, "backend", "tensorflow");
  hdf5.write_string(root, "keras_version", kVersion2);
  std::vector<std::string> layers;
  for (const ExportedLayer& layer : model.layers) {
    const std::string group = concat(root, "/", layer.name);
    hdf5.make_group(group);
    std::vector<std::string> names;
    for (const auto& [name, tensor] : layer.weights) {
      names.push_back(concat(layer.name, "/", name, ":0"));
      hdf5.write_tensor(concat(group, "/", names.back()), stored(tensor, options));
    }
    store::write_list(hdf5, group, "weight_names", names);
    layers.push_back(layer.name);
  }
  store::write_list(hdf5, root, "layer_names", layers);
  hdf5.make_group(root + "/top_level_model_weights");
  store::write_list(hdf5, root + "/top_level_model_weights", "weight_names", {});
  if (!options.optimizer.empty()) {
    const std::string group = "/optimizer_weights";
    hdf5.make_group(group);
    std::vector<std::string> names;
    for (const auto& [name, tensor] : options.optimizer) {
      hdf5.write_tensor(concat(group, "/", name), tensor);
      names.push_back(name);
    }
    store::write_list(hdf5, group, "weight_names", names);
  }
  store::replace_file(path, {hdf5.finish()});
}

void write_keras_archive(const std::string& path, const ExportedModel& model,
                         const WriteOptions& options) {
  store::Hdf5Writer hdf5 =
      store::Hdf5Writer::create(path + ": model.weights.h5", bytes_of_weights(model));
  std::map<std::string, int> used;
  for (const ExportedLayer& layer : model.layers) {
    const std::string group = concat("/layers/", counted_name(layer.class_name, used), "/vars");
    hdf5.make_group(group);
    for (size_t i = 0; i < layer.weights.size(); ++i) {
      hdf5.write_tensor(concat(group, "/", i), stored(layer.weights[i].second, options));
    }
  }
  hdf5.make_group("/vars");
  Json metadata = {{"keras_version", kVersion3}, {"date_saved", "1980-01-01@00:00:00"}};
  for (const auto& [key, value] : options.metadata) metadata[key] = value;
  const std::string metadata_text = metadata.dump();
  const std::string config_text = config_of_3(model).dump();
  const std::vector<uint8_t> archive =
      data::make_zip({{"metadata.json", bytes_of(metadata_text)},
                      {"config.json", bytes_of(config_text)},
                      {"model.weights.h5", bytes_of(hdf5.finish())}});
  store::replace_file(path, {std::as_bytes(std::span(archive))});
}

void write_tfjs_model(const std::string& path, const ExportedModel& model,
                      const WriteOptions& options) {
  std::vector<std::byte> shard;
  Json weights = Json::array();
  for (const ExportedLayer& layer : model.layers) {
    for (const auto& [name, tensor] : layer.weights) {
      const Tensor written = stored(tensor, options);
      shard.insert(shard.end(), written.data(), written.data() + written.bytes());
      Json& entry = weights.push_back({{"name", concat(layer.name, "/", name)},
                                       {"shape", tensor.shape().dims()},
                                       {"dtype", "float32"}});
      if (written.dtype() == DType::f16) entry["quantization"] = {{"dtype", "float16"}};
    }
  }
  const std::filesystem::path shard_path = shard_beside(path, shard);
  Json group = {{"paths", Json(Json::Items{shard_path.filename().string()})}};
  group["weights"] = weights;
  Json file = {{"format", "layers-model"},
               {"generatedBy", concat("keras v", kVersion2)},
               {"convertedBy", "pando"}};
  file["modelTopology"] = {{"keras_version", kVersion2}, {"backend", "tensorflow"}};
  file["modelTopology"]["model_config"] = config_of_2(model);
  if (!options.metadata.empty()) file["userDefinedMetadata"] = options.metadata;
  file["weightsManifest"] = Json(Json::Items{group});
  const std::string text = file.dump();
  store::replace_file(shard_path.string(), {shard});
  store::replace_file(path, {std::as_bytes(std::span(text))});
}

}  // namespace pando::keras

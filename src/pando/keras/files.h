// Files with whole Keras models: HDF5 of Keras 2, `.keras` archives, layers models of tfjs.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pando/base/json.h"
#include "pando/keras/weights.h"

namespace pando::keras {

// A file that was read. `config` is for import_network, which makes `weights` read theirs.
struct ModelFile {
  Json config;
  int major = 2;  // version of Keras that wrote it
  std::unique_ptr<WeightSource> weights;
  Json training = {};  // loss, metrics and optimizer as the file describes them, or null
  // Reads the slots of the optimizer, after `weights` gave theirs; empty: the file has none.
  std::function<NamedTensors()> optimizer_weights = {};
  std::map<std::string, std::string> metadata = {};  // texts beside the model, by key
  std::string producer = {};                         // "Keras 2.15.0"
};

// Whole-model HDF5 of Keras 2.0 to 2.15, and what Keras 3 writes in this form. Throws IoError, also
// for a file that has weights only.
ModelFile read_hdf5_model(const std::string& path);
ModelFile parse_hdf5_model(std::vector<uint8_t> content, const std::string& place);

// The zip archive of Keras 2.12 and later. Refuses archives with members that occur twice, that
// leave the folder or that unpack to more than the layers need. Throws IoError.
ModelFile read_keras_archive(const std::string& path);
ModelFile parse_keras_archive(std::vector<uint8_t> content, const std::string& place);

// The model.json of a layers model of tfjs, with its shards beside it. Quantised weights are
// widened. Throws IoError, Unsupported for a graph model.
ModelFile read_tfjs_model(const std::string& path);

// Reads shards by their names in the manifest.
class ShardReader {
 public:
  virtual ~ShardReader() = default;
  virtual std::vector<uint8_t> read(const std::string& name) const = 0;
};
ModelFile parse_tfjs_model(const Json& model, const ShardReader& shards, const std::string& place);

// Recognises the form by the first bytes of the file: HDF5, zip or JSON. Throws IoError for
// anything else.
ModelFile read_model_file(const std::string& path);

}  // namespace pando::keras

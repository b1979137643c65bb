// Whole models in HDF5 files.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/data/sources/gzip.h"
#include "pando/keras/files.h"
#include "pando/keras/files_impl.h"
#include "pando/store/hdf5_lists.h"
#include "pando/store/hdf5_reader.h"

namespace pando::keras {
namespace {

constexpr size_t kMostWeights = 1000000;

// A text in one attribute or in several: model_config, or model_config0, model_config1, ...
std::string long_text(store::Hdf5Reader& hdf5, const std::string& name) {
  return join(store::read_list(hdf5, "/", name), "");
}

NamedTensors listed_weights(store::Hdf5Reader& hdf5, const std::string& group,
                            const std::string& place) {
  NamedTensors weights;
  if (!store::has_list(hdf5, group, "weight_names")) {
    throw IoError(place, ": group '", group, "' has no attribute 'weight_names'");
  }
  for (const std::string& name : store::read_list(hdf5, group, "weight_names")) {
    const std::string dataset = concat(group, "/", name);
    if (name.empty() || !hdf5.exists(dataset)) {
      throw IoError(place, ": group '", group, "' lists the weight '", name.substr(0, 200),
                    "', but the file does not contain it");
    }
    weights.emplace_back(name, hdf5.read_tensor(dataset));
  }
  return weights;
}

std::vector<WeightGroup> weight_groups(store::Hdf5Reader& hdf5, const std::string& place) {
  const std::string root = "/model_weights";
  if (!hdf5.exists(root) || !store::has_list(hdf5, root, "layer_names")) {
    throw IoError(place, ": expected the weights of a model in '", root, "', found none");
  }
  std::vector<WeightGroup> groups;
  for (const std::string& layer : store::read_list(hdf5, root, "layer_names")) {
    const std::string group = concat(root, "/", layer);
    if (layer.empty() || !hdf5.exists(group)) {
      throw IoError(place, ": layer '", layer.substr(0, 200),
                    "' is in layer_names but has no group");
    }
    groups.push_back({layer, listed_weights(hdf5, group, place)});
  }
  return groups;
}

void collect_variables(store::Hdf5Reader& hdf5, const std::string& group,
                       std::map<std::string, Tensor>& found, const std::string& place) {
  for (const std::string& child : hdf5.children(group.empty() ? "/" : group)) {
    const std::string path = group.empty() ? child : concat(group, "/", child);
    if (found.size() > kMostWeights || path.size() > 4096) {
      throw IoError(place, ": more than ", kMostWeights, " weights, or groups without end");
    }
    if (hdf5.is_dataset(path)) {
      found.emplace(path, hdf5.read_tensor(path));
    } else if (group.empty() && child == "optimizer") {
      continue;
    } else if (hdf5.is_group(path)) {
      collect_variables(hdf5, path, found, place);
    }
  }
}

// An open file with the bytes that it reads.
struct OpenHdf5 {
  explicit OpenHdf5(const std::string& path) : hdf5(path) {}
  OpenHdf5(std::vector<uint8_t> bytes, const std::string& place)
      : content(std::move(bytes)), hdf5(content, place, {}) {}
  std::vector<uint8_t> content;
  store::Hdf5Reader hdf5;
};

ModelFile model_of(const std::shared_ptr<OpenHdf5>& open, const std::string& place) {
  store::Hdf5Reader& hdf5 = open->hdf5;
  if (!store::has_list(hdf5, "/", "model_config")) {
    throw IoError(place, ": expected a whole model with the attribute 'model_config', found ",
                  "none; a file of weights alone is read into a model that is there already");
  }
  ModelFile file{.config = parse_json(long_text(hdf5, "model_config"), place, "model_config")};
  if (store::has_list(hdf5, "/", "keras_version")) {
    const std::string version = long_text(hdf5, "keras_version");
    file.major = major_version(version);
    file.producer = "Keras " + version;
  }
  file.metadata = hdf5.string_attributes("/");
  file.metadata.erase("model_config");
  file.metadata.erase("training_config");
  if (store::has_list(hdf5, "/", "training_config")) {
    file.training = parse_json(long_text(hdf5, "training_config"), place, "training_config");
  }
  file.weights = deferred_weights([open, place](uint64_t most_bytes) {
    open->hdf5.limit_tensors(most_bytes);
    return grouped_weights(weight_groups(open->hdf5, place), place);
  });
  if (hdf5.exists("/optimizer_weights") &&
      store::has_list(hdf5, "/optimizer_weights", "weight_names")) {
    file.optimizer_weights = [open, place] {
      return listed_weights(open->hdf5, "/optimizer_weights", place);
    };
  }
  return file;
}

}  // namespace

std::map<std::string, Tensor> variables_of(std::span<const uint8_t> content,
                                           const std::string& place, uint64_t most_bytes) {
  store::Hdf5Reader hdf5(content, place, {});
  hdf5.limit_tensors(most_bytes);
  std::map<std::string, Tensor> found;
  collect_variables(hdf5, "", found, place);
  return found;
}

Json parse_json(const std::string& text, const std::string& place, const std::string& what) {
  try {
    return Json::parse(text);
  } catch (const IoError& error) {
    throw IoError(place, ": ", what, ": ", error.what());
  }
}

int major_version(const std::string& version) {
  const size_t dot = version.find('.');
  const auto major = parse_int(std::string_view(version).substr(0, dot));
  if (!major || *major < 1 || *major > 3) {
    throw Unsupported("Keras version '", version.substr(0, 40), "': expected 1, 2 or 3");
  }
  return static_cast<int>(*major);
}

ModelFile parse_hdf5_model(std::vector<uint8_t> content, const std::string& place) {
  return model_of(std::make_shared<OpenHdf5>(std::move(content), place), place);
}

ModelFile read_hdf5_model(const std::string& path) {
  return model_of(std::make_shared<OpenHdf5>(path), path);
}

}  // namespace pando::keras

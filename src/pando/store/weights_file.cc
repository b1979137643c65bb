// SPDX-License-Identifier: MIT
#include "pando/store/weights_file.h"

#include <algorithm>
#include <set>

#include "pando/store/atomic_file.h"
#include "pando/store/hdf5_lists.h"
#include "pando/store/hdf5_reader.h"
#include "pando/store/hdf5_writer.h"
#include "pando/store/seal.h"

namespace pando::store {

namespace {

constexpr size_t kLargestAttribute = 64512;  // bytes; the limit that Keras uses
constexpr const char* kTopLevel = "top_level_model_weights";
constexpr const char* kState = "pando_state";

// ---- writing

void check_name(std::string_view what, const std::string& name) {
  const auto fail = [&](const char* why) {
    throw InvalidArgument("weights file: ", what, " name '", name, "' ", why);
  };
  if (name.find('\0') != std::string::npos) {
    throw InvalidArgument("weights file: a ", what, " name contains a zero byte");
  }
  if (name.size() > kLargestAttribute / 2) fail("is too long");
  for (const std::string& component : split(name, '/')) {
    if (component.empty()) fail("has an empty part");
    if (component == ".") fail("has a part '.', which HDF5 ignores");
  }
}

std::string file_name_of(const std::string& layer, const std::string& weight) {
  return concat(layer, "/", weight, ":0");
}

bool is_floating(DType dtype) { return dtype != DType::i32 && dtype != DType::u8; }

void check_layers(const WeightsFile& file) {
  std::set<std::string> layers;
  for (const LayerWeights& layer : file.layers) {
    check_name("layer", layer.layer);
    const std::string first = split(layer.layer, '/').front();
    if (first == kTopLevel || first == kState) {
      throw InvalidArgument("weights file: layer name '", layer.layer, "' begins with '", first,
                            "', which the file format reserves; rename the layer");
    }
    if (!layers.insert(layer.layer).second) {
      throw InvalidArgument("weights file: two layers have the name '", layer.layer, "'");
    }
    std::set<std::string> names;
    for (const NamedWeight& weight : layer.weights) {
      check_name("weight", weight.name);
      if (!names.insert(weight.name).second) {
        throw InvalidArgument("weights file: layer '", layer.layer, "' has two weights '",
                              weight.name, "'");
      }
      if (!is_floating(weight.value.dtype())) {
        throw InvalidArgument("weights file: weight '", weight.name, "' of layer '", layer.layer,
                              "': expected f32, f16 or bf16, got ",
                              to_string(weight.value.dtype()));
      }
    }
  }
}

void check_state(const WeightsFile& file) {
  std::set<std::string> names;
  for (const NamedWeight& entry : file.state) {
    check_name("state", entry.name);
    if (!names.insert(entry.name).second) {
      throw InvalidArgument("weights file: two states have the name '", entry.name, "'");
    }
  }
}

bool is_list_name(const std::string& attribute) {
  constexpr std::string_view kList = "layer_names";
  return attribute.starts_with(kList) &&
         std::all_of(attribute.begin() + kList.size(), attribute.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

void check_attributes(const WeightsFile& file) {
  for (const auto& [name, value] : file.attributes) {
    if (name.empty() || name.find('\0') != std::string::npos || is_list_name(name)) {
      throw InvalidArgument("weights file: '", name, "' cannot be the name of an attribute");
    }
    if (value.find('\0') != std::string::npos) {
      throw InvalidArgument("weights file: attribute '", name, "' contains a zero byte");
    }
  }
}

void write_layers(Hdf5Writer& hdf5, const WeightsFile& file) {
  std::vector<std::string> layer_names;
  for (const LayerWeights& layer : file.layers) {
    const std::string group = "/" + layer.layer;
    hdf5.make_group(group);
    std::vector<std::string> names;
    for (const NamedWeight& weight : layer.weights) {
      names.push_back(file_name_of(layer.layer, weight.name));
      hdf5.write_tensor(concat(group, "/", names.back()), weight.value);
    }
    write_list(hdf5, group, "weight_names", names);
    layer_names.push_back(layer.layer);
  }
  write_list(hdf5, "/", "layer_names", layer_names);
  hdf5.make_group(concat("/", kTopLevel));
  write_list(hdf5, concat("/", kTopLevel), "weight_names", {});
}

void write_state(Hdf5Writer& hdf5, const WeightsFile& file) {
  if (file.state.empty()) return;
  const std::string group = concat("/", kState);
  hdf5.make_group(group);
  std::vector<std::string> names;
  for (const NamedWeight& entry : file.state) {
    hdf5.write_tensor(concat(group, "/", entry.name), entry.value);
    names.push_back(entry.name);
  }
  write_list(hdf5, group, "names", names);
}

size_t content_bytes(const WeightsFile& file) {
  size_t bytes = 0;
  for (const LayerWeights& layer : file.layers) {
    for (const NamedWeight& weight : layer.weights) bytes += weight.value.bytes();
  }
  for (const NamedWeight& entry : file.state) bytes += entry.value.bytes();
  return bytes;
}

void write_content(Hdf5Writer& hdf5, const WeightsFile& file) {
  // Loaders of Keras convert the weights of version 1 and of backends that flip kernels; with
  // version 2 and a backend that they do not know, they take the weights as they are.
  std::map<std::string, std::string> attributes = file.attributes;
  attributes.try_emplace("backend", "pando");
  attributes.try_emplace("keras_version", "2.0.0");
  for (const auto& [name, value] : attributes) hdf5.write_string("/", name, value);
  write_layers(hdf5, file);
  write_state(hdf5, file);
}

// ---- reading

// The group whose attributes name the layers, with a '/' at its end.
std::string find_root(Hdf5Reader& hdf5, const std::string& path) {
  if (has_list(hdf5, "/", "layer_names")) return "/";
  if (hdf5.exists("/model_weights") && has_list(hdf5, "/model_weights", "layer_names")) {
    return "/model_weights/";
  }
  if (hdf5.exists("/layers") || hdf5.exists("/_layer_checkpoint_dependencies")) {
    throw IoError("weights file '", path,
                  "' has the layout of Keras 3 (.weights.h5); save the whole model ",
                  "in a .h5 file, which has the older layout");
  }
  throw IoError("weights file '", path,
                "' has no attribute 'layer_names', neither at its root nor ",
                "in 'model_weights'; expected the HDF5 layout of Keras 2");
}

std::string short_name(std::string_view name, const std::string& layer) {
  if (name.ends_with(":0")) name.remove_suffix(2);
  const std::string prefix = layer + "/";
  if (name.starts_with(prefix) && name.size() > prefix.size()) name.remove_prefix(prefix.size());
  return std::string(name);
}

LayerWeights read_layer(Hdf5Reader& hdf5, const std::string& path, const std::string& root,
                        const std::string& name) {
  const std::string group = root + name;
  const auto fail = [&](const auto&... parts) {
    throw IoError("weights file '", path, "': layer '", name, "' ", parts...);
  };
  if (name.empty() || !hdf5.exists(group)) fail("is in layer_names but has no group");
  if (!has_list(hdf5, group, "weight_names")) fail("has no attribute 'weight_names'");
  LayerWeights layer{.layer = name};
  for (const std::string& weight : read_list(hdf5, group, "weight_names")) {
    const std::string dataset = concat(group, "/", weight);
    if (weight.empty() || !hdf5.exists(dataset)) {
      fail("lists the weight '", weight, "', but the file does not contain it");
    }
    Tensor value = hdf5.read_tensor(dataset);
    if (!is_floating(value.dtype())) {
      fail("has the weight '", weight, "' of type ", to_string(value.dtype()),
           "; expected floating point");
    }
    layer.weights.push_back({short_name(weight, name), std::move(value)});
  }
  return layer;
}

}  // namespace

void write_weights_file(const std::string& path, const WeightsFile& file) {
  check_layers(file);
  check_state(file);
  check_attributes(file);
  Hdf5Writer hdf5 = Hdf5Writer::create(path, content_bytes(file));
  write_content(hdf5, file);
  const std::span<const std::byte> image = hdf5.finish();
  const Seal seal = seal_of(image);
  replace_file(path, {image, seal});
}

WeightsFile read_weights_file(const std::string& path) {
  check_seal(path);
  Hdf5Reader hdf5(path);
  const std::string root = find_root(hdf5, path);
  WeightsFile file{.path = path};
  file.attributes = hdf5.string_attributes("/");
  if (root != "/") file.attributes.merge(hdf5.string_attributes(root));
  std::erase_if(file.attributes, [](const auto& entry) { return is_list_name(entry.first); });
  for (const std::string& layer : read_list(hdf5, root, "layer_names")) {
    file.layers.push_back(read_layer(hdf5, path, root, layer));
  }
  const std::string state = concat("/", kState);
  if (!hdf5.exists(state)) return file;
  for (const std::string& name : read_list(hdf5, state, "names")) {
    file.state.push_back({name, hdf5.read_tensor(concat(state, "/", name))});
  }
  return file;
}

}  // namespace pando::store

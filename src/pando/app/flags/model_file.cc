// SPDX-License-Identifier: MIT
#include "pando/app/flags/model_file.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/record/checkpoint_list.h"
#include "pando/base/error.h"
#include "pando/base/paths.h"
#include "pando/base/strings.h"
#include "pando/data/sources/gzip.h"
#include "pando/data/tfrecord/crc32c.h"
#include "pando/datasets/all_datasets.h"
#include "pando/nn/layers.h"
#include "pando/zoo/head.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKeptStem = "model";
constexpr int64_t kUsualSide = 224;

// The suffixes of all kinds of model files.
std::vector<std::string> endings() {
  std::vector<std::string> all;
  for (const ModelFileKind& kind : model_file_kinds()) {
    all.insert(all.end(), kind.suffixes.begin(), kind.suffixes.end());
  }
  return all;
}

// The weights may be in other files.
std::string fingerprint_of(const std::string& path, const Model& model) {
  uint32_t sum = data::crc32c(data::read_file(path));
  for (const Tensor& weight : model.get_weights()) {
    sum = data::crc32c({reinterpret_cast<const uint8_t*>(weight.data()), weight.bytes()}, sum);
  }
  return fmt::format("checksum {:08x}", sum);
}

// If the file leaves height and width open, both become `side` or, if `side` is 0, the size that
// the file recommends.
Model load_with_side(const std::string& path, int64_t side) {
  LoadModelOptions options{
      .height = side, .width = side, .model = {.name = fs::path(path).stem().string()}};
  if (side > 0) return load_model(path, options);
  try {
    return load_model(path, options);
  } catch (const InvalidArgument&) {
    options.height = options.width = kUsualSide;
    return load_model(path, options);
  }
}

// A data set whose samples have the shape of the input, or pictures in folders.
std::string dataset_for(const Shape& input) {
  for (const std::string& name : trainable_datasets()) {
    if (dataset_record(name).shape == input) return name;
  }
  return "image_folder";
}

Network with_probabilities(const Network& network) {
  const std::string last = zoo::last_op(network);
  if (last == "softmax") return network;
  if (last == "sigmoid") return zoo::with_activation(network, "softmax");
  std::vector<SymbolicTensor> inputs;
  for (const NetworkInput& one : network.inputs()) {
    inputs.push_back(
        Input(one.shape, {.dtype = one.dtype, .name = one.name, .auxiliary = one.auxiliary}));
  }
  return Network(inputs, Activation("softmax", {.name = "probabilities"})(network(inputs)));
}

}  // namespace

bool names_model_file(const std::string& model) {
  const std::string lower = to_lower(model);
  return std::ranges::any_of(endings(),
                             [&](const std::string& ending) { return lower.ends_with(ending); });
}

ZooEntry entry_of_network(const Network& network, const std::string& name) {
  if (network.features() != 1 || network.outputs().size() != 1) {
    throw InvalidArgument("expected a network with one input and one output, got ",
                          network.inputs().size(), " inputs and ", network.outputs().size(),
                          " outputs; Model::fit trains such networks");
  }
  const Shape& output = network.outputs()[0].shape;
  const Shape input = network.inputs()[0].shape;
  const int64_t units = output.rank() == 0 ? 1 : output.back();
  return {.name = name,
          .description = "a network from a file",
          .dataset = dataset_for(input),
          .input_shape = input,
          .outputs = units,
          .loss = "sparse_categorical_crossentropy",
          .task = output.rank() == 1 ? "classification" : "segmentation",
          .make = [network, input, units](const Shape& shape, int64_t outputs, const ZooOptions&) {
            if (shape != input) {
              throw InvalidArgument("expected samples of shape ", input, ", got ", shape);
            }
            if (outputs == units) return with_probabilities(network);
            return zoo::with_head(network, {.units = outputs});
          }};
}

std::shared_ptr<const ModelFile> read_model_file(const std::string& path, int64_t image_size) {
  if (!is_plain_file(path)) {
    throw UsageError("--model: the file '", path,
                     "' does not exist; expected a file: ", kinds_text(false),
                     ", or the name of a model ('pando models' lists them)");
  }
  try {
    const Model model = load_with_side(path, image_size);
    return std::make_shared<const ModelFile>(
        ModelFile{.path = path,
                  .fingerprint = fingerprint_of(path, model),
                  .image_size = image_size,
                  .model = model,
                  .entry = entry_of_network(model.network(), model.name())});
  } catch (const InvalidArgument& error) {
    throw UsageError("--model ", path, ": ", error.what());
  }
}

fs::path kept_model_file(const fs::path& run_dir) {
  for (const std::string& ending : endings()) {
    fs::path kept = run_dir / (kKeptStem + ending);
    if (is_plain_file(kept.string())) return kept;
  }
  return {};
}

fs::path kept_model_file_around(const fs::path& place) {
  for (const fs::path& folder : folders_around(place)) {
    fs::path kept = kept_model_file(folder);
    if (!kept.empty()) return kept;
  }
  return {};
}

std::string keep_model_file(const ModelFile& file, const fs::path& run_dir) {
  const fs::path copy = run_dir / (kKeptStem + to_lower(fs::path(file.path).extension().string()));
  std::error_code failed;
  if (fs::equivalent(copy, file.path, failed)) return "";
  fs::copy_file(file.path, copy, fs::copy_options::overwrite_existing, failed);
  if (failed)
    throw IoError("cannot copy ", file.path, " to ", copy.string(), ": ", failed.message());
  try {
    load_with_side(copy.string(), file.image_size);
    return "";
  } catch (const Error& error) {
    fs::remove(copy, failed);
    return error.what();
  }
}

}  // namespace pando::app

// SPDX-License-Identifier: MIT
#include "pando/train/load_model.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "pando/base/error.h"
#include "pando/base/paths.h"
#include "pando/store/hdf5_lists.h"
#include "pando/store/hdf5_reader.h"
#include "pando/store/safetensors.h"
#include "pando/train/keras_model.h"
#include "pando/train/onnx_model.h"

namespace pando {

namespace {

namespace fs = std::filesystem;

constexpr size_t kStartBytes = 64;
constexpr std::string_view kHdf5Mark = "\x89HDF\r\n\x1a\n";

bool ends_in(const std::string& path, const std::vector<std::string>& suffixes) {
  const std::string lower = to_lower(path);
  return std::ranges::any_of(suffixes,
                             [&](const std::string& suffix) { return lower.ends_with(suffix); });
}

std::string start_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string start(kStartBytes, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(file.gcount()));
  return start;
}

// ---- ONNX

// A protocol buffer has no mark. Writers begin with field 1, the version of the format, a small
// number; then comes field 2, the producer, or the graph.
bool is_onnx(const std::string& start, const std::string& path) {
  if (ends_in(path, {".onnx"})) return true;
  const bool has_version = start.size() > 2 && start[0] == 0x08 && start[1] > 0 && start[1] < 32;
  return has_version && (start[2] == 0x12 || start[2] == 0x3a || start[2] == 0x42);
}

void save_onnx_kind(const Model& model, const std::string& path, const SaveModelOptions& options) {
  save_onnx(model, path, {.opset = options.opset, .half = options.half, .batch = options.batch});
}

// ---- Keras

// A file of weights has no description of the layers.
bool is_whole_hdf5(const std::string& start, const std::string& path) {
  if (!start.starts_with(kHdf5Mark)) return false;
  store::Hdf5Reader hdf5(path);
  return store::has_list(hdf5, "/", "model_config");
}

bool is_keras_archive(const std::string& start, const std::string& path) {
  return start.starts_with("PK\x03\x04") || ends_in(path, {".keras"});
}

bool is_layers_model(const std::string& start, const std::string& path) {
  const std::string_view text = trim(start);
  return text.starts_with('{') && ends_in(path, {".json"});
}

void save_as(const char* format, const Model& model, const std::string& path,
             const SaveModelOptions& options) {
  if (options.opset != 0) {
    throw InvalidArgument("'", path, "': opset: only ONNX files have one, got ", options.opset);
  }
  if (options.batch != 0) {
    throw InvalidArgument("'", path, "': batch: only ONNX files fix it, got ", options.batch);
  }
  save_keras(model, path, {.format = format, .half = options.half, .training = options.training});
}
void save_hdf5_kind(const Model& model, const std::string& path, const SaveModelOptions& options) {
  save_as("h5", model, path, options);
}
void save_archive_kind(const Model& model, const std::string& path,
                       const SaveModelOptions& options) {
  save_as("keras", model, path, options);
}
void save_tfjs_kind(const Model& model, const std::string& path, const SaveModelOptions& options) {
  save_as("tfjs", model, path, options);
}

// ---- the choice

[[noreturn]] void refuse_folder(const std::string& path) {
  throw InvalidArgument(
      "'", path, "' is a folder, expected a file with a model: ", kinds_text(false),
      "; for the directory of a run, write one with `pando export ", path, " -o model.onnx`");
}

// Files that have weights, but no description of layers.
[[noreturn]] void refuse_weights(const std::string& path) {
  throw InvalidArgument(
      "'", path,
      "' has weights but does not describe the layers they belong to; for a "
      "checkpoint of `pando train`, write a model with `pando export ",
      path, " -o model.onnx`; otherwise name the network: --model NAME --weights ", path);
}

bool is_weights(const std::string& start, const std::string& path) {
  return start.starts_with(kHdf5Mark) || ends_in(path, {".safetensors"}) ||
         store::looks_like_safetensors(path);
}

}  // namespace

const std::vector<ModelFileKind>& model_file_kinds() {
  static const std::vector<ModelFileKind> kinds = {{.name = "onnx",
                                                    .title = "ONNX",
                                                    .suffixes = {".onnx"},
                                                    .fits = is_onnx,
                                                    .load = load_onnx,
                                                    .save = save_onnx_kind},
                                                   {.name = "h5",
                                                    .title = "Keras whole-model HDF5",
                                                    .suffixes = {".h5", ".hdf5"},
                                                    .fits = is_whole_hdf5,
                                                    .load = load_keras,
                                                    .save = save_hdf5_kind},
                                                   {.name = "keras",
                                                    .title = "Keras archive",
                                                    .suffixes = {".keras"},
                                                    .fits = is_keras_archive,
                                                    .load = load_keras,
                                                    .save = save_archive_kind},
                                                   {.name = "tfjs",
                                                    .title = "tfjs layers model",
                                                    .suffixes = {".json"},
                                                    .fits = is_layers_model,
                                                    .load = load_keras,
                                                    .save = save_tfjs_kind}};
  return kinds;
}

std::string kinds_text(bool written) {
  std::vector<std::string> texts;
  for (const ModelFileKind& kind : model_file_kinds()) {
    if (written && kind.save == nullptr) continue;
    texts.push_back(concat(kind.title, " (", join(kind.suffixes, ", "), ")"));
  }
  return join(texts, ", ");
}

const ModelFileKind& kind_to_write(const std::string& path) {
  for (const ModelFileKind& kind : model_file_kinds()) {
    if (kind.save != nullptr && ends_in(path, kind.suffixes)) return kind;
  }
  throw InvalidArgument("'", path,
                        "': no kind of model file has this suffix; known: ", kinds_text(true));
}

const ModelFileKind* find_model_file_kind(const std::string& path) {
  if (!is_plain_file(path)) return nullptr;
  const std::string start = start_of(path);
  for (const ModelFileKind& kind : model_file_kinds()) {
    if (kind.fits(start, path)) return &kind;
  }
  return nullptr;
}

bool is_model_file(const std::string& path) { return find_model_file_kind(path) != nullptr; }

Model load_model(const std::string& path, const LoadModelOptions& options) {
  if (!path_exists(path)) throw IoError("'", path, "' does not exist");
  if (is_folder(path)) refuse_folder(path);
  if (!is_plain_file(path)) throw IoError("'", path, "' is not a regular file");
  if (const ModelFileKind* kind = find_model_file_kind(path)) return kind->load(path, options);
  if (is_weights(start_of(path), path)) refuse_weights(path);
  throw IoError("'", path, "': expected a model file of a known kind (", kinds_text(false),
                "), got an unknown one");
}

void save_model(const Model& model, const std::string& path, const SaveModelOptions& options) {
  kind_to_write(path).save(model, path, options);
}

void Model::save(const std::string& path) const { save_model(*this, path); }

}  // namespace pando

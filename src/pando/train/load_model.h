// Models in files of any kind: the content tells the kind when they are read, the suffix when they
// are written.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pando/train/load_options.h"

namespace pando {

// A model with the weights and the facts (Model::facts()) of the file; pictures are channels last.
// Where the file leaves extents open, predict() takes samples of other sizes too
// (Model::open_sizes()).
// Throws IoError for a damaged file and one of another kind, Unsupported with a list of everything
// in the file that is not known, and InvalidArgument for extents that are missing, for a folder,
// and for a file that has weights but does not describe layers: it says what to do with it.
Model load_model(const std::string& path, const LoadModelOptions& options = {});

struct SaveModelOptions {
  int64_t opset = 0;  // ONNX files only; 0: 13 or, if layers need it, 17
  bool half = false;  // weights in 16 bits: half the size; other software computes in 32 bits
  // The state that the weights are of: Keras' HDF5 files keep the slots of its optimizer.
  const TrainingState* training = nullptr;
  int64_t batch = 0;  // ONNX files only: binds other software to it; 0: any
};

// Writes the model with its facts. Throws InvalidArgument for a suffix that no kind has, or an
// option that the kind does not know; Unsupported with a list of all layers that the kind cannot
// express; IoError if the file cannot be written. An older file then stays.
void save_model(const Model& model, const std::string& path, const SaveModelOptions& options = {});

// A kind of files that describe a network with its weights.
struct ModelFileKind {
  std::string name;                   // what users write: "onnx"
  std::string title;                  // for messages: "ONNX"
  std::vector<std::string> suffixes;  // with a dot; the first is the usual one
  // Whether a file is of the kind, by its first bytes (at most 64) and its path.
  bool (*fits)(const std::string& start, const std::string& path) = nullptr;
  Model (*load)(const std::string& path, const LoadModelOptions& options) = nullptr;
  // Null: only read.
  void (*save)(const Model& model, const std::string& path,
               const SaveModelOptions& options) = nullptr;
};

// The only list of kinds.
const std::vector<ModelFileKind>& model_file_kinds();
// The kind that writes files with the suffix of `path`. Throws InvalidArgument, which lists them.
const ModelFileKind& kind_to_write(const std::string& path);
// "ONNX (.onnx), ...": of all kinds, or of those that are written.
std::string kinds_text(bool written);

// The kind of an existing file; null: none of them, such as a file of weights.
const ModelFileKind* find_model_file_kind(const std::string& path);
// Whether load_model() would read the path as one of the kinds. False for files of weights.
bool is_model_file(const std::string& path);

}  // namespace pando

// Models in files of Keras and tfjs, from other software and for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "pando/train/model.h"

namespace pando {

struct KerasLoadOptions {
  // Extents that the file leaves open: as "input:1", axis 1 of an input with the batch as axis 0,
  // or for all pictures as "height" and "width". The batch stays free.
  std::map<std::string, int64_t> extents = {};
  // Layers that the file declares not trainable are frozen (Model::set_trainable).
  bool freeze = true;
  ModelOptions model = {};
};

// An ordinary model with the layers and weights of a file: whole-model HDF5 of Keras 2, a `.keras`
// archive, or the model.json of a layers model of tfjs; the content decides. Layers have the names
// of the file; those of a model inside the model are named "model/layer". Loss and optimizer of the
// file are not taken: compile() the model. Throws IoError for a damaged file, Unsupported with a
// list of all layers that are not known.
Model load_keras(const std::string& path, const KerasLoadOptions& options = {});

struct KerasSaveOptions {
  std::string format = {};  // "h5", "keras" or "tfjs"; empty: by the suffix of the file
  std::map<std::string, std::string> metadata = {};  // besides the facts of the model
  bool half = false;                                 // weights in 16 bits
};

// Writes layers, weights and which layers are frozen: to .h5 and .hdf5 files as whole-model HDF5 of
// Keras 2.15, to .keras files as the archive of Keras 3, to .json files as a layers model of tfjs,
// with its weights in a .bin file beside it. The batch is free. Throws Unsupported with a
// list of all layers that Keras does not have, InvalidArgument for another suffix or format,
// IoError if the file cannot be written; an older file then stays.
void save_keras(const Model& model, const std::string& path, const KerasSaveOptions& options = {});

}  // namespace pando

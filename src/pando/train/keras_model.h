// Models in files of Keras and tfjs, from other software and for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "pando/train/load_options.h"

namespace pando {

// An ordinary model with the layers and weights of a file: whole-model HDF5 of Keras 2, a `.keras`
// archive, or the model.json of a layers model of tfjs; the content decides. Layers have the names
// of the file; those of a model inside the model are named "model/layer". Loss and optimizer of the
// file are not taken: compile() the model. Throws IoError for a damaged file, Unsupported with a
// list of all layers that are not known.
Model load_keras(const std::string& path, const LoadModelOptions& options = {});

// Gives the optimizer of a compiled model the state that a whole-model HDF5 file of Keras has
// (`optimizer_weights`): its slots and the number of weight updates, from which learning rates
// follow. The model has the layers of the file by name. Returns why nothing was taken: there is no
// state, it is of another optimizer or of other weights, or the model is not compiled. Empty: all
// of it was. Throws IoError for a damaged file.
std::string restore_keras_optimizer(Model& model, const std::string& path);

// Whether a file of Keras has a state that restore_keras_optimizer() may take. Throws IoError for a
// damaged file.
bool has_keras_optimizer(const std::string& path);

struct KerasSaveOptions {
  std::string format = {};  // "h5", "keras" or "tfjs"; empty: by the suffix of the file
  std::map<std::string, std::string> metadata = {};  // besides the facts of the model
  bool half = false;                                 // weights in 16 bits
  // HDF5 files get the slots of its optimizer as `optimizer_weights`, if Keras has that optimizer.
  // There is no training_config: Keras opens the file without compiling the model.
  const TrainingState* training = nullptr;
};

// Writes layers, weights and which layers are frozen: to .h5 and .hdf5 files as whole-model HDF5 of
// Keras 2.15, to .keras files as the archive of Keras 3, to .json files as a layers model of tfjs,
// with its weights in a .bin file beside it. The batch is free. Throws Unsupported with a
// list of all layers that Keras does not have, InvalidArgument for another suffix or format,
// IoError if the file cannot be written; an older file then stays.
void save_keras(const Model& model, const std::string& path, const KerasSaveOptions& options = {});

}  // namespace pando

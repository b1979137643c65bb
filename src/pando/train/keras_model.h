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

}  // namespace pando

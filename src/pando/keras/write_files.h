// Writes whole models in the forms that Keras and tfjs read.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

#include "pando/keras/export.h"
#include "pando/keras/weights.h"

namespace pando::keras {

struct WriteOptions {
  // Kept in the file beside the model; Keras ignores it.
  std::map<std::string, std::string> metadata = {};
  bool half = false;            // weights in 16 bits where their range suffices
  NamedTensors optimizer = {};  // written to HDF5 models, as Keras names them; empty: none
};

// All replace the file as a whole or not at all, and the same model gives the same bytes. Throw
// IoError if it cannot be written.
//
// Whole-model HDF5 of Keras 2.15. Requires: a model exported for version 2.
void write_hdf5_model(const std::string& path, const ExportedModel& model,
                      const WriteOptions& options = {});
// The `.keras` archive of Keras 3. Requires: a model exported for version 3.
void write_keras_archive(const std::string& path, const ExportedModel& model,
                         const WriteOptions& options = {});
// A layers model of tfjs: model.json at `path`, and beside it one file of weights with the name of
// `path`, ending in .bin. Requires: a model exported for version 2.
void write_tfjs_model(const std::string& path, const ExportedModel& model,
                      const WriteOptions& options = {});

}  // namespace pando::keras

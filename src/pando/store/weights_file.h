// Weights in HDF5 files with the layout of Keras 2, so that Keras, h5py and Pando read each other's
// files:
//   /                                 layer_names, backend, keras_version
//   /conv2d                           weight_names = conv2d/kernel:0, conv2d/bias:0
//   /conv2d/conv2d/kernel:0           a dataset
//   /top_level_model_weights          weight_names = (none)
//   /pando_state                      names = adam/step, ...; only when there is state
//   /pando_state/adam/step            a dataset
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pando/tensor/tensor.h"

namespace pando::store {

// f16 is written as float16; bf16, which neither HDF5 nor Keras has, is written as f32, exactly.
struct NamedWeight {
  std::string name;  // "kernel"; in the file "conv2d/kernel:0"
  Tensor value;
};

struct LayerWeights {
  std::string layer;  // may contain '/'
  std::vector<NamedWeight> weights;
};

struct WeightsFile {
  std::vector<LayerWeights> layers;  // in the order of the model, also those without weights
  // String attributes of the root. When written, backend and keras_version are added if absent.
  std::map<std::string, std::string> attributes;
  // State that Keras ignores, such as that of the optimizer, of any type; names may contain '/'.
  std::vector<NamedWeight> state;
  std::string path;  // where it was read from, for messages; not written
};

// Replaces the file as a whole or not at all: on IoError the previous file is intact and nothing is
// left behind. The same content gives the same bytes. Throws InvalidArgument for names that are
// empty, reserved or used twice, and for weights that are not floating point.
void write_weights_file(const std::string& path, const WeightsFile& file);

// Also reads files of Keras 2 with a whole model, names without ":0", float64 (as f32) and
// compressed data. Throws IoError. Every damage to a file of ours is found (seal.h); a damaged or
// malicious file of another program gives an error or wrong numbers, never a crash
// (hdf5_reader.h).
WeightsFile read_weights_file(const std::string& path);

}  // namespace pando::store

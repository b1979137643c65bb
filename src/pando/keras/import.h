// Turns a Keras model, from a file of any of its forms, into a network with weights: it can be
// trained, cut, frozen and given a new head like any other.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pando/base/json.h"
#include "pando/keras/weights.h"
#include "pando/nn/network.h"
#include "pando/tensor/tensor.h"

namespace pando::keras {

struct ImportOptions {
  // Extents that the file leaves open: as "input:1", axis 1 of an input with the batch as axis 0,
  // or for all pictures as "height" and "width". The batch stays free.
  std::map<std::string, int64_t> extents = {};
  int64_t usual_side = 0;  // for heights and widths that are still open; 0: none
};

// An input of the network, as the file has it.
struct ImportedInput {
  std::string name;
  std::vector<bool> open;  // whether the file leaves an axis open, for each axis of a sample
};

struct ImportedNetwork {
  Network network;
  std::string name;
  std::vector<ImportedInput> inputs;  // in the order of those of the network
  // By the names of Model::weight_names(), "conv1/kernel".
  std::vector<std::pair<std::string, Tensor>> weights;
  std::vector<std::string> frozen;  // layers with weights that the file declares not trainable
};

// `config` is {"class_name": "Functional", "config": {...}}, `major` the version of Keras that
// wrote it. Layers of a model inside the model are named "model/layer". Throws Unsupported with a
// list of all layers that are not known, by class with their names, IoError for a description or
// weights that do not fit together, InvalidArgument for extents that are missing or that no input
// has.
ImportedNetwork import_network(const Json& config, int major, const WeightSource& weights,
                               const ImportOptions& options = {});

// "Class (count): name, name, ..." for every class of layers that import_network does not know;
// empty: none.
std::vector<std::string> unknown_layers(const Json& config);

}  // namespace pando::keras

// Finds the weights of each layer in a Keras file: one interface for three forms of files.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pando/tensor/tensor.h"

namespace pando::keras {

struct WantedWeight {
  std::string name;  // as Keras names it: "kernel"
  Shape shape;       // empty where any shape fits
  bool trainable = true;
  bool any_shape = false;
};

// A layer that has weights. Layers are in the order of the model; the layers of a model inside it
// are at its place.
struct WantedLayer {
  // The names of the models around the layer and its own, from the outside in.
  std::vector<std::string> names;
  std::vector<std::string> classes;  // of these
  std::vector<WantedWeight> weights;
};

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // The weights of all layers, f32, in the order that each layer expects. Throws IoError if there
  // are too few or too many.
  virtual std::vector<std::vector<Tensor>> find(const std::vector<WantedLayer>& layers) const = 0;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// The groups of a Keras 2 file, one for each layer of the model, with weights by name. A model
// inside the model has one group, in which trained weights come before others.
struct WeightGroup {
  std::string layer;
  NamedTensors weights;
};
std::unique_ptr<WeightSource> grouped_weights(std::vector<WeightGroup> groups, std::string place);

// Weights by name, "conv/kernel", in no order: tfjs.
std::unique_ptr<WeightSource> named_weights(NamedTensors weights, std::string place);

// Weights by the class of their layers and a count, "layers/conv2d_1/vars/0": Keras 3.
std::unique_ptr<WeightSource> counted_weights(std::map<std::string, Tensor> weights,
                                              std::string place);

// Weights that are read only when layers ask for them. `read` gets the bytes that tensors may take:
// what the layers need, beside an optimizer's slots and room for what is ignored. A file that would
// unpack to far more than its layers need is therefore refused before it is unpacked.
using ReadWeights = std::function<std::unique_ptr<WeightSource>(uint64_t most_bytes)>;
std::unique_ptr<WeightSource> deferred_weights(ReadWeights read);

// "Conv2DTranspose" becomes "conv2d_transpose".
std::string snake_case(const std::string& class_name);

}  // namespace pando::keras

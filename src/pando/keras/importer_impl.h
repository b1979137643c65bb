// The state of an import. One function per class of layers turns its options into a layer; the
// functions stand in one source for each family.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pando/keras/model_config.h"
#include "pando/nn/layers.h"
#include "pando/nn/network_builder.h"

namespace pando::keras {

constexpr int64_t kMostExtent = int64_t{1} << 24;

using Computed = nn::ComputedTensor;

// Calls the layers of a Functional model in an order in which their inputs exist, and returns the
// outputs of the model. `call` makes one call of a layer. Throws IoError for a result that is
// missing.
using CallLayer = std::function<std::vector<Computed>(
    const LayerConfig& layer, const LayerCall* call, const std::vector<Computed>& inputs)>;
std::vector<Computed> apply_functional(const ModelConfig& model,
                                       const std::vector<Computed>& inputs, const CallLayer& call);

// The layer of the file, as the function that makes it sees it.
struct LayerPlace {
  const LayerConfig& layer;
  std::string name;                 // in the network
  std::vector<Shape> inputs;        // of one sample, at the first call
  const LayerCall* call = nullptr;  // the first; null in a Sequential model
  int major = 2;                    // version of Keras

  const Json& config() const { return layer.config; }
  std::string label() const;  // "Conv2D 'conv1'"

  template <typename T>
  T get(std::string_view key, T missing) const {
    return value_or<T>(config(), key, std::move(missing));
  }
  bool has(std::string_view key) const { return find_value(config(), key) != nullptr; }
  // A list of `count` numbers, or one number for all of them.
  std::vector<int64_t> ints(std::string_view key, size_t count,
                            std::optional<int64_t> missing = {}) const;
  template <size_t count>
  std::array<int64_t, count> extents(std::string_view key,
                                     std::optional<int64_t> missing = {}) const {
    const std::vector<int64_t> list = ints(key, count, missing);
    std::array<int64_t, count> result = {};
    for (size_t i = 0; i < count; ++i) result[i] = list[i];
    return result;
  }
  // Throws Unsupported unless the option has this value, or none.
  template <typename T>
  void only(std::string_view key, const T& value) const;
  // The sample of the only input; throws InvalidArgument unless it has `rank` axes.
  const Shape& sample(int rank) const;
};

[[noreturn]] void refuse_option(const LayerPlace& place, std::string_view key,
                                const std::string& expected);

template <typename T>
void LayerPlace::only(std::string_view key, const T& value) const {
  if (get<T>(key, value) != value) refuse_option(*this, key, Json(value).dump());
}

// A layer of the network. Its weights are those of the definition, in their order, which is that of
// Keras, except for the following.
struct MadeLayer {
  Layer layer;
  std::map<std::string, std::vector<double>> given = {};  // values of weights that no file has
  std::vector<std::string> ignored = {};                  // weights of the file behind the others
  std::optional<Layer> activation = {};                   // applied to the result
};

using MakeLayer = MadeLayer (*)(const LayerPlace& place);
struct LayerImport {
  const char* class_name;
  MakeLayer make;
};

// By class, and "Class (count): name, name, ..." for every class that is not in it.
const std::map<std::string, MakeLayer>& all_imports();
std::vector<std::string> unknown_lines(const ModelConfig& model);

// The families of layers.
std::vector<LayerImport> product_imports();  // convolutions and dense layers
std::vector<LayerImport> pooling_imports();
std::vector<LayerImport> element_imports();   // activations, normalisation, dropout
std::vector<LayerImport> shape_imports();     // borders, resizing, shapes
std::vector<LayerImport> merging_imports();   // layers of several inputs
std::vector<LayerImport> function_imports();  // functions of TensorFlow and Keras 3 as layers
// True if a layer of this class is known but applies a function that is not; `name` is that one.
bool is_unknown_function(const LayerConfig& layer, std::string& name);
// Arithmetic of an input and a number; null if no operand of the call is a number.
std::optional<MadeLayer> with_number(const LayerPlace& place, const std::string& function);

// A layer of several ops.
struct ComposedSpec {
  std::string class_name;
  std::string stem;
  int inputs = 1;
  std::vector<nn::WeightSpec> weights = {};
  std::function<ir::Value*(nn::GraphBuilder&, const std::vector<ir::Value*>&)> build;
};
Layer composed(ComposedSpec spec, std::string name);

// The activation of a layer: a name that layers take, or a layer of its own behind.
struct ActivationChoice {
  std::string name;
  std::optional<Layer> layer;
};
// `name` is the name of the layer that a layer behind gets.
ActivationChoice activation_of(const LayerPlace& place, const Json* value, std::string name);
inline ActivationChoice activation_of(const LayerPlace& place) {
  return activation_of(place, find_value(place.config(), "activation"), place.name + "_activation");
}

// The shape of a sample with an extent of -1 found from the number of elements.
Shape whole_shape(const LayerPlace& place, std::vector<int64_t> target);

// The place of an axis of the sample, counted with the batch; negative: from the end.
int64_t axis_of(const LayerPlace& place, int64_t axis, int64_t rank);

}  // namespace pando::keras

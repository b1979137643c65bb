// SPDX-License-Identifier: MIT
#include "pando/zoo/head.h"

#include <algorithm>

#include "pando/base/error.h"
#include "pando/nn/layers.h"
#include "pando/zoo/task.h"

namespace pando::zoo {

namespace {

// "Dense 'fc' after Flatten 'flatten'": for errors.
std::string ending_of(const Network& network) {
  const LayerInfo& last = network.layer(network.outputs()[0].name);
  std::string text = concat(last.class_name, " '", last.name, "'");
  if (last.inbound.empty()) return text;
  const LayerInfo& before = network.layer(last.inbound[0]);
  return text + concat(" after ", before.class_name, " '", before.name, "'");
}

[[noreturn]] void throw_no_head(const Network& network) {
  throw InvalidArgument(
      "expected a network with one output that ends with a dense layer, or with a convolution of "
      "1x1 and pooling, got ",
      network.outputs().size(),
      network.outputs().size() == 1 ? " output, of " : " outputs, the first of ",
      ending_of(network));
}

bool is_classifier(const LayerInfo& layer) {
  if (layer.weights.empty()) return false;
  if (layer.class_name == "Dense") return layer.weights[0].shape.rank() == 2;
  if (layer.class_name != "Conv2D") return false;
  const Shape& kernel = layer.weights[0].shape;
  return kernel.rank() == 4 && kernel[0] == 1 && kernel[1] == 1;
}

std::vector<SymbolicTensor> new_inputs(const Network& network) {
  std::vector<SymbolicTensor> inputs;
  for (const NetworkInput& one : network.inputs()) {
    inputs.push_back(
        Input(one.shape, {.dtype = one.dtype, .name = one.name, .auxiliary = one.auxiliary}));
  }
  return inputs;
}

// A dense layer takes one number per feature.
SymbolicTensor as_vector(const SymbolicTensor& x, const Shape& shape, const std::string& head) {
  if (shape.rank() == 1) return x;
  if (shape.rank() == 3) return GlobalAveragePooling2D({.name = head + "_pool"})(x);
  return Flatten({.name = head + "_flatten"})(x);
}

// Files of other software may add the bias of the classifier in a layer of its own.
bool is_scale(const LayerInfo& layer) { return layer.class_name == "Scale"; }

bool has_scale(const Network& network, const Head& head) {
  return std::ranges::any_of(
      head.layers, [&](const std::string& name) { return is_scale(network.layer(name)); });
}

// The extents without the last one, the channels.
std::vector<int64_t> pixels_of(const Shape& shape) {
  std::vector<int64_t> extents = shape.dims();
  if (!extents.empty()) extents.pop_back();
  return extents;
}

// Applies the classifier to every pixel. Layers behind the old classifier are kept, so they must
// not change the pixels.
SymbolicTensor classify_pixels(const Network& network, const LayerInfo& old,
                               const SymbolicTensor& features, const DenseOptions& options) {
  const Shape& output = network.outputs()[0].shape;
  const Shape& before = network.layer(old.inbound[0]).output_shape;
  if (pixels_of(before) != pixels_of(output)) {
    throw InvalidArgument("cannot replace the classifier '", old.name, "': it takes ", before,
                          " and the network gives ", output, " by ", ending_of(network),
                          "; expected as many pixels behind the classifier as before it");
  }
  return Conv2D({.filters = options.units,
                 .kernel = {1, 1},
                 .activation = options.activation,
                 .use_bias = options.use_bias,
                 .kernel_initializer = options.kernel_initializer,
                 .bias_initializer = options.bias_initializer,
                 .name = options.name})(features);
}

Network with_classifier(const Network& network, DenseOptions options) {
  const Head head = find_head(network);
  const LayerInfo& old = network.layer(head.classifier);
  options.name = old.name;
  options.use_bias = old.weights.size() > 1 || has_scale(network, head);
  options.kernel_initializer = old.weights[0].initializer;
  if (old.weights.size() > 1) options.bias_initializer = old.weights[1].initializer;
  const LayerInfo& before = network.layer(old.inbound[0]);
  const bool is_input = before.inbound.empty();
  const Network body = is_input ? network : network.until(before.name);
  const std::vector<SymbolicTensor> inputs = new_inputs(body);
  const SymbolicTensor features = is_input ? inputs[0] : body(inputs);
  if (network.outputs()[0].shape.rank() > 1) {
    return Network(inputs, classify_pixels(network, old, features, options));
  }
  return Network(inputs, Dense(options)(as_vector(features, before.output_shape, old.name)));
}

}  // namespace

Head find_head(const Network& network) {
  if (network.outputs().size() != 1) throw_no_head(network);
  Head head;
  const auto take = [&](const LayerInfo& layer) -> const LayerInfo& {
    if (layer.inbound.size() != 1) throw_no_head(network);
    head.layers.insert(head.layers.begin(), layer.name);
    return network.layer(layer.inbound[0]);
  };
  const LayerInfo* layer = &network.layer(network.outputs()[0].name);
  while (layer->weights.empty() || is_scale(*layer)) layer = &take(*layer);
  if (!is_classifier(*layer)) throw_no_head(network);
  head.classifier = layer->name;
  head.units = layer->output_shape.back();
  layer = &take(*layer);
  while (layer->class_name == "Dropout") layer = &take(*layer);
  head.features = layer->name;
  return head;
}

Network with_head(const Network& network, const HeadOptions& options) {
  return with_classifier(network, {.units = options.units, .activation = options.activation});
}

std::string last_op(const Network& network, size_t output) {
  const NetworkGraph built = network.build({.batch = 1, .training = false});
  const ir::Node* node = built.outputs.at(output)->producer();
  while (node != nullptr && (node->op() == "reshape" || node->op() == "transpose")) {
    node = node->inputs()[0]->producer();
  }
  return node == nullptr ? "" : node->op();
}

Network with_activation(const Network& network, const std::string& activation) {
  const Head head = find_head(network);
  if (has_scale(network, head)) throw_no_head(network);  // its weights would be lost
  return with_classifier(network, {.units = head.units, .activation = activation});
}

ZooEntry for_task(const ZooEntry& entry, const std::string& task) {
  if (entry.task == task) return entry;
  const Task& wanted = task_named(task);
  if (entry.task != "classification" || wanted.loss.empty()) {
    std::vector<std::string> others;
    for (const ZooEntry& other : model_zoo()) {
      const bool fits =
          other.task == task || (other.task == "classification" && !wanted.loss.empty());
      if (fits && other.input_shape.rank() == entry.input_shape.rank())
        others.push_back(other.name);
    }
    throw InvalidArgument(entry.name, " is for ", entry.task,
                          ", but the labels of the data are for ", task,
                          others.empty() ? "" : "; expected one of ", join(others, ", "));
  }
  ZooEntry other = entry;
  other.task = task;
  other.loss = wanted.loss;
  other.make = [make = entry.make, activation = wanted.activation](
                   const Shape& shape, int64_t outputs, const ZooOptions& options) {
    return with_activation(make(shape, outputs, options), activation);
  };
  return other;
}

}  // namespace pando::zoo

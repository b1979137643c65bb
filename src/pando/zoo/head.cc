// SPDX-License-Identifier: MIT
#include "pando/zoo/head.h"

#include "pando/base/error.h"
#include "pando/nn/layers.h"
#include "pando/zoo/task.h"

namespace pando::zoo {

Network with_activation(const Network& network, const std::string& activation) {
  const LayerInfo& last = network.layer(network.outputs()[0].name);
  if (network.outputs().size() != 1 || network.inputs().size() != 1 || last.class_name != "Dense") {
    throw InvalidArgument("expected a network with one input that ends with a dense layer, got ",
                          network.inputs().size(), " inputs and ", network.outputs().size(),
                          " outputs, the first of ", last.class_name, " '", last.name, "'");
  }
  DenseOptions options{.units = last.output_shape.back(),
                       .activation = activation,
                       .use_bias = last.weights.size() > 1,
                       .kernel_initializer = last.weights[0].initializer,
                       .name = last.name};
  if (options.use_bias) options.bias_initializer = last.weights[1].initializer;
  const NetworkInput& given = network.inputs()[0];
  const SymbolicTensor input = Input(given.shape, {.dtype = given.dtype, .name = given.name});
  return Network(input, Dense(options)(network.until(last.inbound[0])(input)));
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

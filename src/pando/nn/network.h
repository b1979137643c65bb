// A network: layers connected from inputs to one output, each with its name and weights. It
// describes; building it gives the graph of one batch size.
// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string>
#include <vector>

#include "pando/ir/graph.h"
#include "pando/nn/layer.h"

namespace pando {

// One layer of a network, in the order of execution. Inputs are layers too.
struct LayerInfo {
  std::string name;
  std::string class_name;
  Shape output_shape;  // of one sample
  std::vector<nn::WeightSpec> weights;
  std::vector<std::string> inbound;  // names of the layers before it, at its first call

  int64_t parameters() const;
};

// The forward graph of a network, ready for losses and gradients.
struct NetworkGraph {
  ir::Graph graph;
  std::vector<ir::Value*> inputs;  // feeds, in the order of the network's inputs
  ir::Value* output = nullptr;
};

struct NetworkBuildOptions {
  int64_t batch = 1;
  bool training = false;
  std::set<std::string> frozen;  // layers that behave as in inference (batch normalisation)
};

// Immutable once made; cheap to copy. Throws InvalidArgument, at construction, for whatever does
// not fit together: the message names the layer.
class Network {
 public:
  Network(const SymbolicTensor& input, const SymbolicTensor& output);
  Network(std::vector<SymbolicTensor> inputs, const SymbolicTensor& output);

  const std::vector<LayerInfo>& layers() const { return layers_; }
  const LayerInfo& layer(const std::string& name) const;  // throws with the known names
  const std::vector<Shape>& input_shapes() const { return input_shapes_; }
  const Shape& output_shape() const { return output_shape_; }  // of one sample
  int64_t parameters() const;            // of all weights, moving statistics included
  int64_t trainable_parameters() const;  // without moving statistics

  NetworkGraph build(const NetworkBuildOptions& options) const;

  // A table of the layers as Keras prints it.
  std::string summary(const std::string& model_name = "model",
                      const std::set<std::string>& frozen = {}) const;

 private:
  // One application of a layer to earlier results.
  struct Call {
    int layer = 0;            // index into layers_ and states_
    std::vector<int> inputs;  // indices of earlier calls
  };
  class Collector;
  class Builder;

  std::vector<Call> calls_;
  std::vector<std::shared_ptr<const Layer::State>> states_;  // per layer; null for an input
  std::vector<LayerInfo> layers_;
  std::vector<Shape> input_shapes_;
  std::vector<DType> input_dtypes_;
  std::vector<int> input_calls_;
  int output_call_ = 0;
  Shape output_shape_;
};

// A chain of layers on inputs of the given shape.
Network Sequential(Shape input_shape, const std::vector<Layer>& layers);

}  // namespace pando

// Builds the layers of a network into a graph, one after the other.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/nn/network.h"

namespace pando::nn {

class NetworkBuilder : public GraphBuilder {
 public:
  NetworkBuilder(ir::Graph& graph, bool training) : graph_(graph), training_(training) {}

  // Starts a layer: all further calls belong to it. Requires: `info` outlives the building of it.
  void begin_layer(const LayerInfo& info, bool training);

  bool training() const override { return training_; }
  ir::Value* weight(const std::string& name) override;
  ir::Node* append(std::string op, std::vector<ir::Value*> inputs, ir::Attributes attributes,
                   int outputs) override;
  void move_towards(const std::string& weight, ir::Value* moments) override;
  const std::string& layer_name() const override { return info_->name; }

 private:
  ir::Graph& graph_;
  bool training_;
  const LayerInfo* info_ = nullptr;
};

// The full name of a layer's weight: "conv2d/kernel".
std::string weight_name(const std::string& layer, const std::string& weight);

// Builds the layer alone to find the type of its result for one sample. Shapes do not include the
// batch.
ir::TensorType sample_output(const LayerDefinition& definition, const LayerInfo& info,
                             const std::vector<ir::TensorType>& inputs);

// A tensor of a network under construction, with the shape of one sample.
struct ComputedTensor {
  SymbolicTensor tensor;
  Shape shape;
};
// Calls the layer. Shapes are checked at once; the layer must have a name.
ComputedTensor apply(const Layer& layer, const std::vector<ComputedTensor>& inputs);

}  // namespace pando::nn

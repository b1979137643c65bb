// SPDX-License-Identifier: MIT
#include "pando/nn/network_builder.h"

#include "pando/base/error.h"
#include "pando/ops/builder.h"

namespace pando::nn {

std::string weight_name(const std::string& layer, const std::string& weight) {
  return layer + "/" + weight;
}

void NetworkBuilder::begin_layer(const LayerInfo& info, bool training) {
  info_ = &info;
  training_ = training;
}

ir::Value* NetworkBuilder::weight(const std::string& name) {
  const std::string full_name = weight_name(info_->name, name);
  if (ir::Value* existing = graph_.find_value(full_name)) return existing;
  for (const WeightSpec& spec : info_->weights) {
    if (spec.name != name) continue;
    const auto role = spec.is_state() ? ir::InputRole::state : ir::InputRole::variable;
    return graph_.add_input(full_name, role, ir::TensorType{DType::f32, spec.shape});
  }
  throw InternalError("layer '", info_->name, "' has no weight '", name, "'");
}

ir::Node* NetworkBuilder::append(std::string op, std::vector<ir::Value*> inputs,
                                 ir::Attributes attributes, int outputs) {
  return ops::append(graph_, {.op = std::move(op),
                              .inputs = std::move(inputs),
                              .outputs = outputs,
                              .attributes = std::move(attributes),
                              .name = info_->name});
}

void NetworkBuilder::move_towards(const std::string& name, ir::Value* moments) {
  weight(name);  // adds the state to the inputs of the graph even if no op reads it
  graph_.add_output(ir::OutputRole::statistic, weight_name(info_->name, name), moments);
}

ir::TensorType sample_output(const LayerDefinition& definition, const LayerInfo& info,
                             const std::vector<ir::TensorType>& inputs) {
  ir::Graph graph;
  NetworkBuilder builder(graph, false);
  builder.begin_layer(info, false);
  std::vector<ir::Value*> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<int64_t> dims = {1};
    dims.insert(dims.end(), inputs[i].shape.begin(), inputs[i].shape.end());
    values.push_back(graph.add_input(concat("x", i), ir::InputRole::feed,
                                     ir::TensorType{inputs[i].dtype, Shape(dims)}));
  }
  const ir::TensorType& type = definition.build(builder, values)->type();
  return {type.dtype, Shape(std::vector<int64_t>(type.shape.begin() + 1, type.shape.end()))};
}

ComputedTensor apply(const Layer& layer, const std::vector<ComputedTensor>& inputs) {
  const LayerDefinition& definition = *layer.state()->definition;
  std::vector<SymbolicTensor> tensors;
  std::vector<ir::TensorType> types;
  std::vector<Shape> shapes;
  for (const ComputedTensor& input : inputs) {
    tensors.push_back(input.tensor);
    types.push_back({DType::f32, input.shape});
    shapes.push_back(input.shape);
  }
  LayerInfo info;
  info.name = layer.state()->name;
  info.class_name = definition.class_name();
  info.weights = definition.weights(info.name, shapes);
  return {layer(tensors), sample_output(definition, info, types).shape};
}

}  // namespace pando::nn

// Small models made by tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/onnx/imported_model.h"

namespace pando::onnx {

using AttributeKind = AttributeProto::Kind;

template <typename T>
TensorProto tensor_with(const std::string& name, ElementType type, std::vector<int64_t> dims,
                        const std::vector<T>& values) {
  const auto* first = reinterpret_cast<const uint8_t*>(values.data());
  TensorProto tensor{.name = name, .type = type, .dims = std::move(dims)};
  tensor.owner =
      std::make_shared<const std::vector<uint8_t>>(first, first + values.size() * sizeof(T));
  tensor.bytes = *tensor.owner;
  return tensor;
}

inline TensorProto reals(const std::string& name, std::vector<int64_t> dims,
                         std::vector<float> values) {
  return tensor_with(name, ElementType::f32, std::move(dims), values);
}

inline TensorProto wholes(const std::string& name, std::vector<int64_t> values) {
  return tensor_with(name, ElementType::i64, {std::ssize(values)}, values);
}

inline NodeProto node_of(const std::string& op, std::vector<std::string> inputs,
                         const std::string& output, std::vector<AttributeProto> attributes = {}) {
  NodeProto node{.op_type = op, .name = op + "_of_" + output};
  node.inputs = std::move(inputs);
  node.outputs = {output};
  node.attributes = std::move(attributes);
  return node;
}

// A model with one input x of this shape; the batch is free.
inline ModelProto model_with(std::vector<int64_t> sample, std::vector<NodeProto> nodes,
                             std::vector<TensorProto> constants = {}) {
  ModelProto model;
  model.ir_version = 7;
  model.opsets[""] = 13;
  ValueInfoProto x{.name = "x", .type = ElementType::f32, .is_tensor = true, .has_shape = true};
  x.shape.push_back({-1, "N"});
  for (const int64_t extent : sample) x.shape.push_back({extent, extent < 0 ? "free" : ""});
  model.graph.inputs = {x};
  model.graph.outputs = {{.name = nodes.back().outputs[0], .is_tensor = true}};
  model.graph.nodes = std::move(nodes);
  model.graph.initializers = std::move(constants);
  return model;
}

inline std::vector<float> results(const ModelProto& model, const Shape& shape,
                                  std::vector<float> values) {
  Tensor x(DType::f32, shape);
  std::ranges::copy(values, x.f32().begin());
  const Tensor y = predict_in_file_order(import_network(model), x);
  return {y.f32().begin(), y.f32().end()};
}

inline std::vector<std::string> ops_in(const ImportedNetwork& imported) {
  std::vector<std::string> ops;
  const NetworkGraph built = imported.network.build({.batch = 1});
  for (const auto& node : built.graph.nodes()) ops.push_back(node->op());
  return ops;
}

inline AttributeProto whole_attribute(const std::string& name, int64_t value) {
  return {.name = name, .kind = AttributeKind::integer, .i = value};
}

}  // namespace pando::onnx

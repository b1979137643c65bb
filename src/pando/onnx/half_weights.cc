// SPDX-License-Identifier: MIT
#include "pando/onnx/half_weights.h"

#include <cstring>
#include <set>

#include "pando/tensor/half.h"

namespace pando::onnx {

namespace {

std::set<std::string> names_in(const GraphProto& graph) {
  std::set<std::string> names;
  for (const TensorProto& tensor : graph.initializers) names.insert(tensor.name);
  for (const ValueInfoProto& input : graph.inputs) names.insert(input.name);
  for (const NodeProto& node : graph.nodes) {
    names.insert(node.name);
    names.insert(node.outputs.begin(), node.outputs.end());
  }
  return names;
}

}  // namespace

void halve_weights(ModelProto& model) {
  std::set<std::string> names = names_in(model.graph);
  std::vector<NodeProto> casts;
  for (TensorProto& tensor : model.graph.initializers) {
    if (tensor.type != ElementType::f32) continue;
    const std::vector<float> values = tensor.floats();
    if (!may_be_stored_in_half(std::ssize(tensor.dims), values)) continue;
    const std::string name = tensor.name;
    tensor.name = name + "/f16";
    while (!names.insert(tensor.name).second) tensor.name += "_";
    std::vector<uint8_t> bytes(values.size() * sizeof(uint16_t));
    for (size_t i = 0; i < values.size(); ++i) {
      const uint16_t half = to_f16(values[i]);
      std::memcpy(bytes.data() + i * sizeof(half), &half, sizeof(half));
    }
    tensor.type = ElementType::f16;
    tensor.owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
    tensor.bytes = *tensor.owner;
    NodeProto cast{.op_type = "Cast", .name = tensor.name + "/Cast"};
    cast.inputs = {tensor.name};
    cast.outputs = {name};
    cast.attributes = {{.name = "to",
                        .kind = AttributeProto::Kind::integer,
                        .i = static_cast<int64_t>(ElementType::f32)}};
    casts.push_back(std::move(cast));
  }
  auto& nodes = model.graph.nodes;
  nodes.insert(nodes.begin(), casts.begin(), casts.end());
}

}  // namespace pando::onnx

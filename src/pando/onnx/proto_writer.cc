// Writes the protocol buffers of ONNX.
// SPDX-License-Identifier: MIT
#include "pando/data/tfrecord/wire.h"
#include "pando/onnx/proto.h"

namespace pando::onnx {
namespace {

using Bytes = std::vector<uint8_t>;

void append_whole(Bytes& to, uint32_t number, int64_t value) {
  data::append_int(to, number, static_cast<uint64_t>(value));
}

Bytes entry_bytes(const std::string& key, const std::string& value) {
  Bytes entry;
  data::append_text(entry, 1, key);
  data::append_text(entry, 2, value);
  return entry;
}

Bytes tensor_bytes(const TensorProto& tensor) {
  Bytes bytes;
  for (const int64_t extent : tensor.dims) append_whole(bytes, 1, extent);
  append_whole(bytes, 2, static_cast<int64_t>(tensor.type));
  if (!tensor.name.empty()) data::append_text(bytes, 8, tensor.name);
  data::append_message(bytes, 9, tensor.bytes);
  return bytes;
}

// The numbers are those of AttributeProto.AttributeType.
Bytes attribute_bytes(const AttributeProto& attribute) {
  using Kind = AttributeProto::Kind;
  Bytes bytes;
  data::append_text(bytes, 1, attribute.name);
  int64_t type = 0;
  switch (attribute.kind) {
    case Kind::real: data::append_float(bytes, 2, attribute.f), type = 1; break;
    case Kind::integer: append_whole(bytes, 3, attribute.i), type = 2; break;
    case Kind::text: data::append_text(bytes, 4, attribute.s), type = 3; break;
    case Kind::tensor: data::append_message(bytes, 5, tensor_bytes(attribute.t)), type = 4; break;
    case Kind::reals:
      for (const float value : attribute.floats) data::append_float(bytes, 7, value);
      type = 6;
      break;
    case Kind::integers:
      for (const int64_t value : attribute.ints) append_whole(bytes, 8, value);
      type = 7;
      break;
    case Kind::texts:
      for (const std::string& text : attribute.strings) data::append_text(bytes, 9, text);
      type = 8;
      break;
    case Kind::none:
    case Kind::graph:
    case Kind::other: break;
  }
  append_whole(bytes, 20, type);
  return bytes;
}

Bytes node_bytes(const NodeProto& node) {
  Bytes bytes;
  for (const std::string& input : node.inputs) data::append_text(bytes, 1, input);
  for (const std::string& output : node.outputs) data::append_text(bytes, 2, output);
  if (!node.name.empty()) data::append_text(bytes, 3, node.name);
  data::append_text(bytes, 4, node.op_type);
  for (const AttributeProto& attribute : node.attributes) {
    data::append_message(bytes, 5, attribute_bytes(attribute));
  }
  if (!node.domain.empty()) data::append_text(bytes, 7, node.domain);
  return bytes;
}

Bytes value_bytes(const ValueInfoProto& value) {
  Bytes shape;
  for (const Dimension& dimension : value.shape) {
    Bytes extent;
    if (!dimension.is_free()) append_whole(extent, 1, dimension.value);
    if (dimension.is_free() && !dimension.name.empty())
      data::append_text(extent, 2, dimension.name);
    data::append_message(shape, 1, extent);
  }
  Bytes tensor;
  append_whole(tensor, 1, static_cast<int64_t>(value.type));
  if (value.has_shape) data::append_message(tensor, 2, shape);
  Bytes type;
  data::append_message(type, 1, tensor);
  Bytes bytes;
  data::append_text(bytes, 1, value.name);
  data::append_message(bytes, 2, type);
  return bytes;
}

Bytes graph_bytes(const GraphProto& graph) {
  Bytes bytes;
  for (const NodeProto& node : graph.nodes) data::append_message(bytes, 1, node_bytes(node));
  data::append_text(bytes, 2, graph.name);
  for (const TensorProto& tensor : graph.initializers) {
    data::append_message(bytes, 5, tensor_bytes(tensor));
  }
  for (const ValueInfoProto& value : graph.inputs)
    data::append_message(bytes, 11, value_bytes(value));
  for (const ValueInfoProto& value : graph.outputs) {
    data::append_message(bytes, 12, value_bytes(value));
  }
  for (const ValueInfoProto& value : graph.values)
    data::append_message(bytes, 13, value_bytes(value));
  return bytes;
}

}  // namespace

std::vector<uint8_t> to_bytes(const ModelProto& model) {
  Bytes bytes;
  append_whole(bytes, 1, model.ir_version);
  data::append_text(bytes, 2, model.producer);
  data::append_text(bytes, 3, model.producer_version);
  data::append_message(bytes, 7, graph_bytes(model.graph));
  for (const auto& [domain, version] : model.opsets) {
    Bytes opset;
    data::append_text(opset, 1, domain);
    append_whole(opset, 2, version);
    data::append_message(bytes, 8, opset);
  }
  for (const auto& [key, value] : model.metadata) {
    data::append_message(bytes, 14, entry_bytes(key, value));
  }
  return bytes;
}

}  // namespace pando::onnx

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "pando/base/error.h"
#include "pando/onnx/exporter_impl.h"

namespace pando::onnx {
namespace {

constexpr int64_t kFirstExportOpset = 9;
constexpr int64_t kLastExportOpset = 17;
constexpr int64_t kIrVersion = 7;
constexpr int64_t kIrVersionOfOpset15 = 8;

const std::map<std::string, ExportOp>& all_exports() {
  static const std::map<std::string, ExportOp> table = [] {
    std::map<std::string, ExportOp> all;
    for (const auto& family :
         {product_exports(), picture_exports(), element_exports(), axis_exports()}) {
      for (const OpExport& one : family) all.emplace(one.op, one.add);
    }
    return all;
  }();
  return table;
}

TensorProto tensor_proto(const std::string& name, ElementType type,
                         const std::vector<int64_t>& dims, const void* data, size_t bytes) {
  const auto* first = static_cast<const uint8_t*>(data);
  TensorProto tensor{.name = name, .type = type, .dims = dims};
  tensor.owner = std::make_shared<const std::vector<uint8_t>>(first, first + bytes);
  tensor.bytes = *tensor.owner;
  return tensor;
}

ValueInfoProto value_info(const std::string& name, const Shape& shape, int64_t batch) {
  ValueInfoProto info{.name = name, .type = ElementType::f32, .is_tensor = true, .has_shape = true};
  info.shape.resize(static_cast<size_t>(shape.rank()));
  if (batch > 0) {
    info.shape[0].value = batch;
  } else {
    info.shape[0].name = "N";
  }
  for (int axis = 1; axis < shape.rank(); ++axis) {
    info.shape[static_cast<size_t>(file_axis(axis, shape.rank()))].value = shape[axis];
  }
  return info;
}

std::vector<int64_t> transposition(int64_t rank, bool to_last) {
  std::vector<int64_t> perm(static_cast<size_t>(rank), 0);
  for (int64_t axis = 1; axis < rank; ++axis) {
    const int64_t place = file_axis(axis, rank);
    if (to_last) {
      perm[static_cast<size_t>(axis)] = place;
    } else {
      perm[static_cast<size_t>(place)] = axis;
    }
  }
  return perm;
}

}  // namespace

AttributeProto attribute(const std::string& name, int64_t value) {
  return {.name = name, .kind = AttributeProto::Kind::integer, .i = value};
}
AttributeProto attribute(const std::string& name, double value) {
  return {.name = name, .kind = AttributeProto::Kind::real, .f = static_cast<float>(value)};
}
AttributeProto attribute(const std::string& name, const std::string& value) {
  return {.name = name, .kind = AttributeProto::Kind::text, .s = value};
}
AttributeProto attribute(const std::string& name, std::vector<int64_t> values) {
  return {.name = name, .kind = AttributeProto::Kind::integers, .ints = std::move(values)};
}

int64_t file_axis(int64_t axis, int64_t rank) {
  if (axis == 0 || rank < 3) return axis;
  return axis == rank - 1 ? 1 : axis + 1;
}

Exporter::Exporter(const ir::Graph& graph, const std::map<std::string, Tensor>& weights,
                   const ExportOptions& options, std::map<const ir::Value*, std::string> outputs)
    : graph_(graph), weights_(weights), options_(options), outputs_(std::move(outputs)) {
  if (options.opset < kFirstExportOpset || options.opset > kLastExportOpset) {
    throw InvalidArgument("export to ONNX: opset: expected ", kFirstExportOpset, " to ",
                          kLastExportOpset, ", got ", options.opset);
  }
}

std::string Exporter::unique(const std::string& name, std::set<std::string>& taken) {
  std::string result = name;
  for (int i = 1; !taken.insert(result).second; ++i) result = concat(name, "_", i);
  return result;
}

const std::string& Exporter::name_of(const ir::Value* value) const {
  const auto found = values_.find(value);
  if (found == values_.end()) throw InternalError("value ", value->name(), " is not in the file");
  return found->second;
}

bool Exporter::is_weight(const ir::Value* value) const {
  return value->is_input() && value->role() != ir::InputRole::feed;
}

const Tensor& Exporter::weight(const ir::Value* value) const {
  const auto found = weights_.find(value->name());
  if (found == weights_.end() || found->second.dtype() != DType::f32) {
    throw InvalidArgument("export to ONNX: expected the f32 weight ", value->name());
  }
  return found->second;
}

std::string Exporter::channels_last(const ir::Node& node, const ir::Value* value) {
  const int rank = value->shape().rank();
  if (rank < 3) return name_of(value);
  return emit_step(node, "Transpose", {name_of(value)},
                   {attribute("perm", transposition(rank, true))});
}

void Exporter::give_channels_last(const ir::Node& node, const std::string& name) {
  const int rank = node.output()->shape().rank();
  if (rank < 3) return emit(node, "Identity", {name});
  emit(node, "Transpose", {name}, {attribute("perm", transposition(rank, false))});
}

void Exporter::append(const std::string& name, const std::string& op,
                      std::vector<std::string> inputs, Attributes attributes,
                      const std::string& output) {
  NodeProto added{.op_type = op, .name = unique(name, nodes_)};
  added.inputs = std::move(inputs);
  added.outputs = {output};
  added.attributes = std::move(attributes);
  file().nodes.push_back(std::move(added));
}

void Exporter::emit(const ir::Node& node, const std::string& op, std::vector<std::string> inputs,
                    Attributes attributes) {
  const auto wanted = outputs_.find(node.output());
  const std::string output =
      unique(wanted == outputs_.end() ? node.output()->name() : wanted->second);
  values_[node.output()] = output;
  const bool taken = nodes_.contains(node.name());  // by another op of the same layer
  append(taken ? concat(node.name(), "/", op) : node.name(), op, std::move(inputs),
         std::move(attributes), output);
}

std::string Exporter::emit_step(const ir::Node& node, const std::string& op,
                                std::vector<std::string> inputs, Attributes attributes) {
  const std::string output = unique(concat(node.output()->name(), "/", op));
  append(concat(node.name(), "/", op), op, std::move(inputs), std::move(attributes), output);
  return output;
}

std::string Exporter::add_floats(const std::string& name, const std::vector<int64_t>& dims,
                                 const std::vector<float>& values) {
  const std::string own = unique(name);
  file().initializers.push_back(
      tensor_proto(own, ElementType::f32, dims, values.data(), values.size() * sizeof(float)));
  return own;
}

std::string Exporter::add_ints(const std::string& name, const std::vector<int64_t>& values) {
  const std::string own = unique(name);
  file().initializers.push_back(tensor_proto(own, ElementType::i64, {std::ssize(values)},
                                             values.data(), values.size() * sizeof(int64_t)));
  return own;
}

std::string Exporter::add_number(const ir::Node& node, float value) {
  return add_floats(node.name() + "/number", {}, {value});
}

void Exporter::refuse(const ir::Node& node, const std::string& why) {
  refused_.push_back(concat(node.label(), ": ", why));
  values_[node.output()] = "refused";
}

void Exporter::add_inputs() {
  for (const ir::Value* input : graph_.inputs()) {
    if (is_weight(input)) continue;
    if (input->type().dtype != DType::f32) {
      throw Unsupported("export to ONNX: input ", input->name(), ": expected f32, got ",
                        to_string(input->type().dtype),
                        "; export the network without preprocessing");
    }
    values_[input] = unique(input->name());
    file().inputs.push_back(value_info(values_[input], input->shape(), options_.batch));
  }
}

void Exporter::add_node(const ir::Node& node) {
  const auto found = all_exports().find(node.op());
  if (found == all_exports().end()) return refuse(node, "has no form in ONNX");
  found->second(*this, node);
}

ModelProto Exporter::run() {
  model_.ir_version = options_.opset >= 15 ? kIrVersionOfOpset15 : kIrVersion;
  model_.producer = "pando";
  model_.producer_version = options_.producer_version;
  model_.opsets[""] = options_.opset;
  model_.metadata = options_.metadata;
  file().name = options_.name;
  add_inputs();
  for (const auto& node : graph_.nodes()) add_node(*node);
  if (!refused_.empty()) {
    throw Unsupported("export to ONNX with opset ", options_.opset, ":\n", join(refused_, "\n"));
  }
  return std::move(model_);
}

ModelProto export_network(const Network& network, const std::map<std::string, Tensor>& weights,
                          const ExportOptions& options) {
  const NetworkGraph built = network.build({.batch = 1, .training = false});
  std::map<const ir::Value*, std::string> names;
  for (size_t i = 0; i < built.outputs.size(); ++i) {
    names.emplace(built.outputs[i], network.outputs()[i].name);
  }
  Exporter exporter(built.graph, weights, options, std::move(names));
  ModelProto model = exporter.run();
  for (const ir::Value* value : built.outputs) {
    model.graph.outputs.push_back(
        value_info(exporter.name_of(value), value->shape(), options.batch));
  }
  return model;
}

}  // namespace pando::onnx

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>

#include "pando/base/error.h"
#include "pando/nn/network_builder.h"
#include "pando/onnx/importer_impl.h"
#include "pando/onnx/patterns.h"

namespace pando::onnx {
namespace {

constexpr int64_t kFirstOpset = 6;
constexpr int64_t kLastOpset = 21;
constexpr int64_t kMostExtent = int64_t{1} << 24;
constexpr int64_t kMostKnownElements = int64_t{1} << 26;  // of constants that nodes compute

const std::map<std::string, ImportOp>& all_imports() {
  static const std::map<std::string, ImportOp> table = [] {
    std::map<std::string, ImportOp> all;
    for (const auto& family :
         {conv_imports(), pool_imports(), elementwise_imports(), arithmetic_imports(),
          norm_imports(), matrix_imports(), shape_imports(), reduce_imports(), resize_imports()}) {
      for (const OpImport& one : family) all.emplace(one.op_type, one.import);
    }
    return all;
  }();
  return table;
}

bool is_known(const NodeProto& node) {
  if (!node.domain.empty()) return false;
  return all_imports().contains(node.op_type) || can_fold(node.op_type) ||
         node.op_type == "Shape" || node.op_type == "Size";
}

class OneOpDefinition : public nn::LayerDefinition {
 public:
  explicit OneOpDefinition(OpLayer layer) : layer_(std::move(layer)) {}
  std::string class_name() const override { return layer_.class_name; }
  std::string stem() const override { return layer_.op; }
  int least_inputs() const override { return layer_.inputs; }
  int most_inputs() const override { return layer_.inputs; }
  std::vector<nn::WeightSpec> weights(const std::string& /*layer*/,
                                      const std::vector<Shape>& /*inputs*/) const override {
    return layer_.weights;
  }
  ir::Value* build(nn::GraphBuilder& builder,
                   const std::vector<ir::Value*>& inputs) const override {
    std::vector<ir::Value*> operands = inputs;
    for (const nn::WeightSpec& weight : layer_.weights) {
      operands.push_back(builder.weight(weight.name));
    }
    return builder.append(layer_.op, std::move(operands), layer_.attributes, layer_.outputs)
        ->output();
  }

 private:
  OpLayer layer_;
};

}  // namespace

Order plain_order(size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Order channels_last_order(size_t rank) {
  Order order = plain_order(rank);
  if (rank > 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

std::vector<int64_t> Value::dims() const {
  if (constant) return constant->dims;
  std::vector<int64_t> dims(order.size(), 1);
  for (size_t i = 1; i < order.size(); ++i) {
    dims[static_cast<size_t>(order[i])] = computed->shape[static_cast<int>(i) - 1];
  }
  return dims;
}

Tensor weight_tensor(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(DType::f32, shape);
  PANDO_CHECK(tensor.f32().size() == values.size(), shape, " ", values.size());
  std::ranges::copy(values, tensor.f32().begin());
  return tensor;
}

std::vector<float> permuted(const Constant& constant, const Order& perm) {
  const std::vector<float> from = constant.as_reals();
  if (from.empty() || perm.empty()) return from;
  std::vector<int64_t> strides(perm.size(), 1);
  for (size_t i = perm.size(); i-- > 1;) strides[i - 1] = strides[i] * constant.dims[i];
  std::vector<int64_t> dims, steps;
  for (const int64_t axis : perm) {
    dims.push_back(constant.dims[static_cast<size_t>(axis)]);
    steps.push_back(strides[static_cast<size_t>(axis)]);
  }
  std::vector<float> to(from.size());
  std::vector<int64_t> at(perm.size(), 0);
  const int64_t inner = dims.back();
  for (size_t row = 0; row < to.size(); row += static_cast<size_t>(inner)) {
    int64_t place = 0;
    for (size_t i = 0; i + 1 < at.size(); ++i) place += at[i] * steps[i];
    for (int64_t i = 0; i < inner; ++i) {
      to[row + static_cast<size_t>(i)] = from[static_cast<size_t>(place + i * steps.back())];
    }
    for (size_t i = at.size() - 1; i-- > 0;) {
      if (++at[i] < dims[i]) break;
      at[i] = 0;
    }
  }
  return to;
}

std::string layer_of_weight(const std::string& initializer) {
  for (const char* ending :
       {".weight", "/kernel", "/depthwise_kernel", "/gamma", "/scale", "/alpha"}) {
    if (initializer.ends_with(ending)) {
      return initializer.substr(0, initializer.size() - std::string_view(ending).size());
    }
  }
  return {};
}

Importer::Importer(const ModelProto& model, const ImportOptions& options)
    : model_(model), options_(options) {
  const auto found = model.opsets.find("");
  opset_ = found == model.opsets.end() ? 1 : found->second;
  if (opset_ < kFirstOpset || opset_ > kLastOpset) {
    throw Unsupported("opset ", opset_, " of ONNX: expected ", kFirstOpset, " to ", kLastOpset);
  }
}

bool Importer::has(const NodeProto& node, size_t i) const {
  return i < node.inputs.size() && !node.inputs[i].empty();
}

const Value& Importer::operand(const NodeProto& node, size_t i) const {
  if (!has(node, i)) throw InvalidArgument(label(node), ": operand ", i, " is missing");
  const auto found = values_.find(node.inputs[i]);
  if (found != values_.end()) return found->second;
  throw InvalidArgument(label(node), ": operand '", node.inputs[i],
                        "' is neither an input nor the result of an earlier node");
}

const Constant* Importer::known(const NodeProto& node, size_t i) const {
  if (!has(node, i)) return nullptr;
  const Value& value = operand(node, i);
  return value.constant ? &*value.constant : nullptr;
}

const Constant& Importer::need(const NodeProto& node, size_t i, const char* what) const {
  if (const Constant* constant = known(node, i)) return *constant;
  throw Unsupported(label(node), ": ", what, " is computed; expected a constant");
}

std::string Importer::unique_name(const NodeProto& node, const std::string& stem) {
  std::string base = !stem.empty() ? stem : node.name.empty() ? node.outputs.at(0) : node.name;
  while (base.starts_with('/')) base.erase(0, 1);
  if (base.empty()) base = "node";
  std::string name = base;
  for (int i = 1; !names_.insert(name).second; ++i) name = concat(base, "_", i);
  return name;
}

Computed Importer::apply(const NodeProto& node, const MakeLayer& make,
                         const std::vector<Computed>& inputs, NamedTensors weights,
                         const std::string& stem) {
  const std::string name = unique_name(node, stem);
  const Layer layer = make(name);
  const nn::LayerDefinition& definition = *layer.state()->definition;
  std::vector<SymbolicTensor> tensors;
  std::vector<ir::TensorType> types;
  std::vector<Shape> shapes;
  for (const Computed& input : inputs) {
    tensors.push_back(input.tensor);
    types.push_back({DType::f32, input.shape});
    shapes.push_back(input.shape);
  }
  LayerInfo info;
  info.name = name;
  info.class_name = definition.class_name();
  info.weights = definition.weights(name, shapes);
  const Shape shape = nn::sample_output(definition, info, types).shape;
  for (auto& [weight, tensor] : weights) {
    weights_.emplace_back(nn::weight_name(name, weight), std::move(tensor));
  }
  return {layer(tensors), shape};
}

Computed Importer::apply(const NodeProto& node, OpLayer layer, const std::vector<Computed>& inputs,
                         NamedTensors weights, const std::string& stem) {
  layer.inputs = static_cast<int>(inputs.size());
  const auto make = [&](std::string name) {
    return Layer(std::make_shared<OneOpDefinition>(std::move(layer)), std::move(name));
  };
  return apply(node, make, inputs, std::move(weights), stem);
}

Computed Importer::reshaped(const NodeProto& node, const Computed& x, const Shape& shape) {
  if (x.shape == shape) return x;
  return apply(node,
               OpLayer{.class_name = "Reshape",
                       .op = "reshape",
                       .attributes = {{"shape", ir::Ints(shape.begin(), shape.end())}}},
               {x});
}

Computed Importer::ordered(const Value& value, const Order& order) {
  if (!value.computed) throw InternalError("a constant where a computed value is expected");
  if (value.flattened) {
    const Computed source = plain(*value.flattened);
    return reshaped(NodeProto{.op_type = "Reshape", .outputs = {"flatten"}}, source,
                    value.computed->shape);
  }
  if (value.order == order) return *value.computed;
  Order perm;
  for (const int64_t axis : order) {
    perm.push_back(std::ranges::find(value.order, axis) - value.order.begin());
  }
  // Axes of one element may move without moving an element.
  std::vector<int64_t> moving;
  for (const int64_t i : perm) {
    if (i > 0 && value.computed->shape[static_cast<int>(i) - 1] != 1) moving.push_back(i);
  }
  std::vector<int64_t> extents;
  for (size_t i = 1; i < perm.size(); ++i) {
    extents.push_back(value.computed->shape[static_cast<int>(perm[i]) - 1]);
  }
  const NodeProto place{.op_type = "Transpose", .outputs = {"transpose"}};
  if (std::ranges::is_sorted(moving)) return reshaped(place, *value.computed, Shape(extents));
  return apply(
      place,
      OpLayer{.class_name = "Permute", .op = "transpose", .attributes = {{"perm", ir::Ints(perm)}}},
      {*value.computed});
}

void Importer::give(const NodeProto& node, Value value, size_t output) {
  if (output >= node.outputs.size() || node.outputs[output].empty()) return;
  if (!values_.emplace(node.outputs[output], std::move(value)).second) {
    throw InvalidArgument(label(node), ": a second value '", node.outputs[output], "'");
  }
}

void Importer::give(const NodeProto& node, Computed result, Order order, size_t output) {
  if (order.size() != static_cast<size_t>(result.shape.rank()) + 1) {
    throw InternalError(label(node), ": order of ", order.size(), " axes for ", result.shape);
  }
  Value value;
  value.computed = std::move(result);
  value.order = std::move(order);
  give(node, std::move(value), output);
}

void Importer::check_nodes() const {
  const std::vector<std::string> unknown = unknown_ops(model_);
  if (!unknown.empty()) throw Unsupported("these nodes cannot be imported:\n", join(unknown, "\n"));
  if (model_.graph.has_sparse_initializers) throw Unsupported("sparse initializers of ONNX");
}

// Pictures come channels last, unless the file itself begins by bringing the channels forward.
Order Importer::order_of_input(const ValueInfoProto& input) const {
  const size_t rank = input.shape.size();
  std::set<std::string> reached = {input.name};
  static const std::set<std::string> kPassOn = {"Cast", "Identity", "Add",  "Sub",
                                                "Mul",  "Div",      "Clip", "Relu"};
  for (const NodeProto& node : model_.graph.nodes) {
    const bool uses = std::ranges::any_of(
        node.inputs, [&](const std::string& name) { return reached.contains(name); });
    if (!uses) continue;
    if (kPassOn.contains(node.op_type)) {
      reached.insert(node.outputs.begin(), node.outputs.end());
      continue;
    }
    static const std::set<std::string> kAxes = {"Transpose", "MatMul",  "Gemm",   "Reshape",
                                                "Shape",     "Flatten", "Softmax"};
    if (node.op_type == "Shape") continue;
    return kAxes.contains(node.op_type) ? plain_order(rank) : channels_last_order(rank);
  }
  return channels_last_order(rank);
}

void Importer::add_inputs() {
  std::set<std::string> given;
  for (const TensorProto& tensor : model_.graph.initializers) given.insert(tensor.name);
  for (const ValueInfoProto& input : model_.graph.inputs) {
    if (given.contains(input.name)) continue;  // before IR version 4, weights are inputs too
    if (!input.is_tensor || !input.has_shape || input.shape.empty()) {
      throw Unsupported("input '", input.name, "': expected a tensor with a batch axis");
    }
    if (input.type != ElementType::f32) {
      throw Unsupported("input '", input.name, "': expected float, got ", to_string(input.type));
    }
    std::vector<int64_t> dims;
    for (size_t i = 1; i < input.shape.size(); ++i) {
      int64_t extent = input.shape[i].value;
      for (const std::string& key : {input.shape[i].name, concat(input.name, ":", i)}) {
        const auto found = options_.extents.find(key);
        if (input.shape[i].is_free() && found != options_.extents.end()) extent = found->second;
      }
      if (extent < 1 || extent > kMostExtent) {
        throw InvalidArgument("input '", input.name, "': axis ", i, " ('", input.shape[i].name,
                              "'): expected an extent from 1 to ", kMostExtent, ", got ", extent,
                              extent < 0 ? ", which means that it is free; give it an extent" : "");
      }
      dims.push_back(extent);
    }
    const Order order = order_of_input(input);
    std::vector<int64_t> extents;
    for (size_t i = 1; i < order.size(); ++i) {
      extents.push_back(dims[static_cast<size_t>(order[i]) - 1]);
    }
    Value value;
    value.computed = Computed{Input(Shape(extents), {.name = input.name}), Shape(extents)};
    value.order = order;
    names_.insert(input.name);
    inputs_.push_back(value.computed->tensor);
    input_orders_.push_back(order);
    values_.emplace(input.name, std::move(value));
  }
  if (inputs_.empty()) throw Unsupported("a graph without inputs");
}

void Importer::add_initializers() {
  for (const TensorProto& tensor : model_.graph.initializers) {
    Value value;
    value.constant = Constant::of(tensor);
    values_.emplace(tensor.name, std::move(value));
  }
}

// Whether the results of a node are known.
bool Importer::folded(const NodeProto& node) {
  if (node.op_type == "Shape" || node.op_type == "Size") {
    std::vector<int64_t> dims = operand(node, 0).dims();
    const int64_t rank = std::ssize(dims);
    Value value;
    if (node.op_type == "Size") {
      const int64_t count =
          std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
      value.constant = Constant::of_ints({count});
      value.constant->dims.clear();
    } else {
      const SliceRange range = slice_range(node, rank, int_attribute(node, "start", 0),
                                           int_attribute(node, "end", rank), 1);
      value.constant =
          Constant::of_ints({dims.begin() + range.begin, dims.begin() + range.begin + range.count});
    }
    give(node, std::move(value));
    return true;
  }
  std::vector<const Constant*> operands;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    operands.push_back(known(node, i));
    if (has(node, i) && operands.back() == nullptr) return false;
  }
  auto results = fold(node, operands, opset_);
  if (!results) return false;
  for (size_t i = 0; i < results->size(); ++i) {
    Value value;
    folded_ += (*results)[i].elements();
    if (folded_ > kMostKnownElements) {
      throw Unsupported(label(node), ": the file computes more than ", kMostKnownElements,
                        " constants");
    }
    value.constant = std::move((*results)[i]);
    give(node, std::move(value), i);
  }
  return true;
}

void Importer::import_node(const NodeProto& node) {
  if (folded(node)) return;
  const auto found = all_imports().find(node.op_type);
  if (found == all_imports().end()) {
    throw Unsupported(label(node), ": expected constant operands; this op is only known for them");
  }
  found->second(*this, node);
}

ImportedNetwork Importer::run() {
  check_nodes();
  add_initializers();
  add_inputs();
  for (const NodeProto& node : model_.graph.nodes) import_node(node);
  std::vector<SymbolicTensor> outputs;
  std::vector<Order> orders;
  for (const ValueInfoProto& output : model_.graph.outputs) {
    const auto found = values_.find(output.name);
    if (found == values_.end())
      throw InvalidArgument("no node computes output '", output.name, "'");
    if (!found->second.computed) throw Unsupported("output '", output.name, "' is a constant");
    const Value& value = found->second;
    outputs.push_back(value.flattened ? plain(value).tensor : value.computed->tensor);
    orders.push_back(value.order);
  }
  if (outputs.empty()) throw InvalidArgument("a graph without outputs");
  return {Network(inputs_, outputs), std::move(weights_), std::move(input_orders_),
          std::move(orders)};
}

namespace {

// What is imported: named functions, and no nodes that nothing depends on.
ModelProto simplified(const ModelProto& model) {
  ModelProto simple = model;
  const auto opset = model.opsets.find("");
  simple.graph = with_named_functions(std::move(simple.graph),
                                      opset == model.opsets.end() ? 1 : opset->second);
  return simple;
}

}  // namespace

ImportedNetwork import_network(const ModelProto& model, const ImportOptions& options) {
  const ModelProto simple = simplified(model);
  return Importer(simple, options).run();
}

std::vector<std::string> unknown_ops(const ModelProto& model) {
  constexpr size_t kShown = 3;
  std::map<std::string, std::vector<std::string>> unknown;
  const ModelProto simple = simplified(model);
  for (const NodeProto& node : simple.graph.nodes) {
    if (is_known(node)) continue;
    const std::string op = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
    unknown[op].push_back(node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name);
  }
  std::vector<std::string> lines;
  for (const auto& [op, names] : unknown) {
    std::vector<std::string> shown(
        names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, names.size())));
    if (names.size() > kShown) shown.emplace_back("...");
    lines.push_back(concat(op, " (", names.size(), "): ", join(shown, ", ")));
  }
  return lines;
}

}  // namespace pando::onnx

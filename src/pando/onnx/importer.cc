// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cctype>
#include <numeric>

#include "pando/base/error.h"
#include "pando/nn/network_builder.h"
#include "pando/onnx/importer_impl.h"
#include "pando/onnx/patterns.h"
#include "pando/ops/op.h"

namespace pando::onnx {
namespace {

constexpr int64_t kMostNodes = 20000;
constexpr int64_t kFirstOpset = 6;
constexpr int64_t kLastOpset = 21;
constexpr int64_t kMostKnownElements = int64_t{1} << 26;  // of constants that nodes compute

const std::map<std::string, ImportOp>& all_imports() {
  static const std::map<std::string, ImportOp> table = [] {
    std::map<std::string, ImportOp> all;
    for (const auto& family :
         {conv_imports(), pool_imports(), elementwise_imports(), arithmetic_imports(),
          norm_imports(), matrix_imports(), shape_imports(), reduce_imports(), resize_imports(),
          pad_imports(), choice_imports(), loss_imports()}) {
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
    return builder.append(layer_.op, std::move(operands), attributes_for(inputs), layer_.outputs)
        ->output();
  }

 private:
  // Shapes in attributes begin with the batch that the graph is built for.
  ir::Attributes attributes_for(const std::vector<ir::Value*>& inputs) const {
    ir::Attributes attributes = layer_.attributes;
    for (const ops::AttributeSpec& spec : ops::builtin_ops().find(layer_.op)->attributes) {
      if (!spec.holds_batch || inputs.empty() || !attributes.has(spec.name)) continue;
      ir::Ints shape = attributes.get_ints(spec.name);
      shape[0] = inputs[0]->shape()[0];
      attributes.set(spec.name, shape);
    }
    return attributes;
  }

  OpLayer layer_;
};

}  // namespace

Importer::Importer(const ModelProto& model, const ImportOptions& options)
    : model_(model), options_(options), lead_(options.batch == Batch::none ? 1 : 0) {
  const auto found = model.opsets.find("");
  opset_ = found == model.opsets.end() ? 1 : found->second;
  if (opset_ < kFirstOpset || opset_ > kLastOpset) {
    throw Unsupported("opset ", opset_, " of ONNX: expected ", kFirstOpset, " to ", kLastOpset);
  }
  if (std::ssize(model.graph.nodes) > kMostNodes) {
    throw Unsupported("the graph has ", model.graph.nodes.size(), " nodes, expected up to ",
                      kMostNodes);
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
  for (char& letter : base) {
    const bool allowed = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' ||
                         letter == '-' || letter == '.' || letter == '/';
    if (!allowed) letter = '_';
  }
  constexpr size_t kMostLetters = 200;
  if (base.size() > kMostLetters) base.resize(kMostLetters);
  if (base.empty()) base = "node";
  std::string name = base;
  for (int i = 1; !names_.insert(name).second; ++i) name = concat(base, "_", i);
  return name;
}

Computed Importer::apply(const NodeProto& node, const MakeLayer& make,
                         const std::vector<Computed>& inputs, NamedTensors weights,
                         const std::string& stem) {
  const std::string name = unique_name(node, stem);
  for (auto& [weight, tensor] : weights) {
    weights_.emplace_back(nn::weight_name(name, weight), std::move(tensor));
  }
  return nn::apply(make(name), inputs);
}

Computed Importer::apply(const NodeProto& node, OpLayer layer, const std::vector<Computed>& inputs,
                         NamedTensors weights, const std::string& stem) {
  layer.inputs = static_cast<int>(inputs.size());
  const auto make = [&](std::string name) {
    return Layer(std::make_shared<OneOpDefinition>(std::move(layer)), std::move(name));
  };
  return apply(node, make, inputs, std::move(weights), stem);
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
    std::vector<int64_t> dims = file_dims(operand(node, 0));
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
  const auto is_computed = [&](size_t i) { return has(node, i) && known(node, i) == nullptr; };
  bool any = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) any = any || is_computed(i);
  if (!any) throw Unsupported(label(node), ": is not computed while importing");
  // These ops define which axis holds the samples.
  static const std::set<std::string> kOfSamples = {"Conv",
                                                   "ConvTranspose",
                                                   "MaxPool",
                                                   "AveragePool",
                                                   "GlobalAveragePool",
                                                   "GlobalMaxPool",
                                                   "LRN",
                                                   "Resize",
                                                   "Upsample",
                                                   "DepthToSpace",
                                                   "SpaceToDepth",
                                                   "BatchNormalization",
                                                   "InstanceNormalization"};
  const bool mixes_samples = int_attribute(node, "training_mode", 0) != 0;
  if (lead_ > 0 && kOfSamples.contains(node.op_type) && !mixes_samples) {
    return import_one_sample(node, found->second);
  }
  found->second(*this, node);
}

ImportedNetwork Importer::run() {
  check_nodes();
  add_initializers();
  add_inputs();
  try {
    for (const NodeProto& node : model_.graph.nodes) import_node(node);
    return network();
  } catch (const InvalidArgument& error) {
    throw IoError(error.what());  // the file is wrong, not what the caller asked for
  }
}

ImportedNetwork Importer::network() {
  std::vector<SymbolicTensor> outputs;
  std::vector<Order> orders;
  for (const ValueInfoProto& output : model_.graph.outputs) {
    const auto found = values_.find(output.name);
    if (found == values_.end())
      throw InvalidArgument("no node computes output '", output.name, "'");
    if (!found->second.computed) throw Unsupported("output '", output.name, "' is a constant");
    const Value& value = found->second;
    if (value.order[0] != 0) {
      throw Unsupported("output '", output.name, "': axis ", value.order[0],
                        " has the samples; expected axis 0");
    }
    Computed result = value.flattened ? plain(value) : *value.computed;
    const bool is_input = std::ranges::any_of(inputs_, [&](const SymbolicTensor& input) {
      return input.expression() == result.tensor.expression();
    });
    if (is_input) {  // a network has a layer between an input and an output
      const ir::Ints same(result.shape.begin(), result.shape.end());
      result = step(NodeProto{.op_type = "Identity", .outputs = {output.name}}, "reshape",
                    {{"shape", same}}, {result});
    }
    outputs.push_back(result.tensor);
    orders.push_back(value.order);
  }
  if (outputs.empty()) throw InvalidArgument("a graph without outputs");
  return {Network(inputs_, outputs), std::move(weights_), std::move(input_orders_),
          std::move(orders)};
}

std::vector<Constant> Importer::run_constants() {
  add_initializers();
  for (const NodeProto& node : model_.graph.nodes) {
    if (!folded(node)) throw Unsupported(label(node), ": is not computed while importing");
  }
  std::vector<Constant> outputs;
  for (const ValueInfoProto& output : model_.graph.outputs) {
    const auto found = values_.find(output.name);
    if (found == values_.end()) {
      throw InvalidArgument("no node computes output '", output.name, "'");
    }
    outputs.push_back(*found->second.constant);
  }
  return outputs;
}

namespace {

// The reason why no network of Pando can have this op; empty: there is none.
std::string why_never(const std::string& op) {
  static const std::map<std::string, std::vector<std::string>> kReasons = {
      {"8-bit numbers; import the file from before quantisation",
       {"QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger", "QuantizeLinear",
        "DequantizeLinear", "DynamicQuantizeLinear"}},
      {"recurrent layers are not supported", {"LSTM", "GRU", "RNN"}},
      {"control flow is not supported; export the file with constant conditions",
       {"If", "Loop", "Scan"}}};
  for (const auto& [reason, ops] : kReasons) {
    if (std::ranges::find(ops, op) != ops.end()) return concat(" [", reason, "]");
  }
  return {};
}

// The graph to import: spelled-out functions are replaced by named ones, and nodes that no output
// depends on are removed.
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

std::vector<Constant> constant_outputs(const ModelProto& model) {
  return Importer(model, {}).run_constants();
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
    lines.push_back(concat(op, " (", names.size(), "): ", join(shown, ", "), why_never(op)));
  }
  return lines;
}

}  // namespace pando::onnx

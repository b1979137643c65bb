// The inputs of an imported network: their extents and the order of their axes.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"

namespace pando::onnx {
namespace {

constexpr int64_t kMostAxes = 5;
constexpr int64_t kMostExtent = int64_t{1} << 24;

// Whether an axis has as many elements as grey pictures or those in colour have channels.
bool may_be_channels(const ValueInfoProto& input, size_t axis) {
  return axis < input.shape.size() &&
         (input.shape[axis].value == 1 || input.shape[axis].value == 3);
}

void check_input(const ValueInfoProto& input, int64_t lead) {
  if (input.name.empty()) throw IoError("an input of the graph has no name");
  if (!input.is_tensor || !input.has_shape || (input.shape.empty() && lead == 0)) {
    throw Unsupported("input '", input.name, "': expected a tensor with a batch axis");
  }
  if (!is_floating(input.type)) {
    throw Unsupported("input '", input.name, "': expected float, got ", to_string(input.type));
  }
  if (std::ssize(input.shape) + lead > kMostAxes) {
    throw Unsupported("input '", input.name, "': rank: expected at most ", kMostAxes - lead,
                      " axes, got ", input.shape.size());
  }
}

bool is_picture(const ValueInfoProto& input) {
  return input.shape.size() == 4 && may_be_channels(input, 1) && !may_be_channels(input, 3);
}

}  // namespace

// Pictures are channels last, unless the file begins with a Transpose that moves the channels to
// the front.
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
    static const std::set<std::string> kAxes = {"Transpose", "MatMul", "Gemm", "Softmax"};
    if (node.op_type == "Shape") continue;
    const bool has_channels_first = node.op_type == "Flatten"   ? !may_be_channels(input, rank - 1)
                                    : node.op_type == "Reshape" ? is_picture(input)
                                                                : !kAxes.contains(node.op_type);
    return has_channels_first ? channels_last_order(rank) : plain_order(rank);
  }
  return channels_last_order(rank);
}

void Importer::add_inputs() {
  std::set<std::string> given;
  for (const TensorProto& tensor : model_.graph.initializers) given.insert(tensor.name);
  for (const ValueInfoProto& input : model_.graph.inputs) {
    if (given.contains(input.name)) continue;  // before IR version 4, weights are inputs too
    check_input(input, lead_);
    std::vector<int64_t> dims;
    for (auto i = static_cast<size_t>(1 - lead_); i < input.shape.size(); ++i) {
      int64_t extent = input.shape[i].value;
      for (const std::string& key : {input.shape[i].name, concat(input.name, ":", i)}) {
        const auto found = options_.extents.find(key);
        if (input.shape[i].is_free() && found != options_.extents.end()) extent = found->second;
      }
      if (extent == 0) throw Unsupported("input '", input.name, "': axis ", i, " is empty");
      if (extent < 1 || extent > kMostExtent) {
        throw InvalidArgument("input '", input.name, "': axis ", i, " ('", input.shape[i].name,
                              "'): expected an extent from 1 to ", kMostExtent, ", got ", extent,
                              extent < 0 ? ", which means that it is free; give it an extent" : "");
      }
      dims.push_back(extent);
    }
    const Order order = lead_ > 0 ? plain_order(input.shape.size() + 1) : order_of_input(input);
    std::vector<int64_t> extents;
    for (size_t i = 1; i < order.size(); ++i) {
      extents.push_back(dims[static_cast<size_t>(order[i]) - 1]);
    }
    Value value;
    value.computed = Computed{Input(Shape(extents), {.name = input.name}), Shape(extents)};
    value.order = order;
    names_.insert(input.name);
    if (inputs_.empty()) input_shape_ = value.computed->shape;
    inputs_.push_back(value.computed->tensor);
    input_orders_.push_back(order);
    values_.emplace(input.name, std::move(value));
  }
  if (inputs_.empty()) throw Unsupported("a graph without inputs");
}

}  // namespace pando::onnx

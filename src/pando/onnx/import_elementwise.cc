// Functions of single elements.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>

#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"

namespace pando::onnx {
namespace {

// Applies an op to every element; the order of the axes stays.
void give_curve(Importer& importer, const NodeProto& node, const std::string& op,
                const ir::Attributes& attributes = {}) {
  const Value& value = importer.operand(node, 0);
  if (!value.computed) throw Unsupported(label(node), ": a constant operand");
  const Computed y = importer.apply(
      node, {.class_name = node.op_type, .op = op, .attributes = attributes}, {*value.computed});
  if (!value.flattened) return importer.give(node, y, value.order);
  // The elements stay where they are, so that a dense layer behind can still take them so.
  Value result = value;
  result.computed = y;
  Value source = *value.flattened;
  source.computed = importer.reshaped(node, y, source.computed->shape);
  result.flattened = std::make_shared<const Value>(std::move(source));
  importer.give(node, std::move(result));
}

void import_simple(Importer& importer, const NodeProto& node) {
  static const std::map<std::string, std::string> kOps = {
      {"Relu", "relu"},         {"Sigmoid", "sigmoid"},      {"Tanh", "tanh"},
      {"Softplus", "softplus"}, {"HardSwish", "hard_swish"}, {"Mish", "mish"},
      {"Swish", "swish"}};
  give_curve(importer, node, kOps.at(node.op_type));
}

void import_leaky_relu(Importer& importer, const NodeProto& node) {
  give_curve(importer, node, "leaky_relu", {{"alpha", real_attribute(node, "alpha", 0.01)}});
}

void import_elu(Importer& importer, const NodeProto& node) {
  give_curve(importer, node, "elu", {{"alpha", real_attribute(node, "alpha", 1)}});
}

void import_selu(Importer& importer, const NodeProto& node) {
  const bool usual = std::abs(real_attribute(node, "alpha", 1.67326319) - 1.67326319) < 1e-4 &&
                     std::abs(real_attribute(node, "gamma", 1.05070102) - 1.05070102) < 1e-4;
  if (!usual) throw Unsupported(label(node), ": other constants than those of selu");
  give_curve(importer, node, "selu");
}

void import_hard_sigmoid(Importer& importer, const NodeProto& node) {
  give_curve(
      importer, node, "hard_sigmoid",
      {{"alpha", real_attribute(node, "alpha", 0.2)}, {"beta", real_attribute(node, "beta", 0.5)}});
}

void import_gelu(Importer& importer, const NodeProto& node) {
  const bool tanh = text_attribute(node, "approximate", "none") == "tanh";
  give_curve(importer, node, "gelu", {{"approximate", tanh ? 1.0 : 0.0}});
}

// Bounds are attributes before opset 11 and operands since.
void import_clip(Importer& importer, const NodeProto& node) {
  const double most = std::numeric_limits<float>::max();
  const auto bound = [&](const char* name, size_t i, double otherwise) {
    if (!importer.has(node, i)) return real_attribute(node, name, otherwise);
    return importer.need(node, i, name).number(0);
  };
  const double low = bound("min", 1, -most), high = bound("max", 2, most);
  if (low == 0 && high == 6) return give_curve(importer, node, "relu6");
  if (low == 0 && high >= most) return give_curve(importer, node, "relu");
  give_curve(importer, node, "clip",
             {{"min", std::max(low, -most)}, {"max", std::min(high, most)}});
}

void import_negative(Importer& importer, const NodeProto& node) {
  give_curve(importer, node, "scale", {{"factor", -1.0}});
}

void import_identity(Importer& importer, const NodeProto& node) {
  importer.give(node, importer.operand(node, 0));
}

void import_cast(Importer& importer, const NodeProto& node) {
  const auto type = static_cast<ElementType>(int_attribute(node, "to", 1));
  if (!is_floating(type)) {
    throw Unsupported(label(node), ": a conversion of computed numbers to ", to_string(type));
  }
  importer.give(node, importer.operand(node, 0));
}

// In inference nothing happens; training drops as the file says.
void import_dropout(Importer& importer, const NodeProto& node) {
  const double rate = importer.has(node, 1) ? importer.need(node, 1, "the ratio").number(0)
                                            : real_attribute(node, "ratio", 0.5);
  const Value& value = importer.operand(node, 0);
  if (rate <= 0 || rate >= 1 || value.flattened) return import_identity(importer, node);
  const auto make = [&](std::string name) {
    return Dropout({.rate = rate, .name = std::move(name)});
  };
  importer.give(node, importer.apply(node, make, {*value.computed}), value.order);
}

void import_prelu(Importer& importer, const NodeProto& node) {
  const Value& value = importer.operand(node, 0);
  const Constant& slope = importer.need(node, 1, "the slope");
  const std::vector<int64_t> dims = value.dims();
  std::vector<int64_t> aligned(dims.size(), 1);  // in the order of the file
  for (size_t i = 0; i < slope.dims.size(); ++i) {
    aligned[dims.size() - 1 - i] = slope.dims[slope.dims.size() - 1 - i];
  }
  if (slope.dims.size() > dims.size() || aligned[0] != 1) {
    throw Unsupported(label(node), ": a slope of each sample");
  }
  Constant full = slope;
  full.dims = aligned;
  std::vector<int64_t> shape;
  for (size_t i = 1; i < value.order.size(); ++i) {
    shape.push_back(aligned[static_cast<size_t>(value.order[i])]);
  }
  const Computed y = importer.apply(
      node, {.class_name = "PReLU", .op = "prelu", .weights = {{"alpha", Shape(shape), Zeros()}}},
      {importer.ordered(value, value.order)},
      {{"alpha", weight_tensor(Shape(shape), permuted(full, value.order))}});
  importer.give(node, y, value.order);
}

}  // namespace

std::vector<OpImport> elementwise_imports() {
  return {{"Relu", import_simple},
          {"Sigmoid", import_simple},
          {"Tanh", import_simple},
          {"Softplus", import_simple},
          {"HardSwish", import_simple},
          {"Mish", import_simple},
          {"Swish", import_simple},
          {"LeakyRelu", import_leaky_relu},
          {"Elu", import_elu},
          {"Selu", import_selu},
          {"HardSigmoid", import_hard_sigmoid},
          {"Gelu", import_gelu},
          {"Clip", import_clip},
          {"Neg", import_negative},
          {"Identity", import_identity},
          {"Cast", import_cast},
          {"Dropout", import_dropout},
          {"PRelu", import_prelu}};
}

}  // namespace pando::onnx

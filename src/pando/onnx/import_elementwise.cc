// Functions of single elements.
// SPDX-License-Identifier: MIT
#include <cctype>
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

// Applies several ops to every element.
template <typename Function>
void give_of(Importer& importer, const NodeProto& node, const Function& function) {
  const Value& value = importer.operand(node, 0);
  if (!value.computed) throw Unsupported(label(node), ": a constant operand");
  const Order order = value.flattened ? plain_order(value.order.size()) : value.order;
  importer.give(node, function(importer.ordered(value, order)), order);
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
  const double alpha = real_attribute(node, "alpha", 1.67326319);
  const double gamma = real_attribute(node, "gamma", 1.05070102);
  if (std::abs(alpha - 1.67326319) < 1e-4 && std::abs(gamma - 1.05070102) < 1e-4) {
    return give_curve(importer, node, "selu");
  }
  give_of(importer, node, [&](const Computed& x) {
    return importer.scaled(node, importer.step(node, "elu", {{"alpha", alpha}}, {x}), gamma);
  });
}

void import_celu(Importer& importer, const NodeProto& node) {
  const double alpha = real_attribute(node, "alpha", 1);
  give_of(importer, node, [&](const Computed& x) {
    const Computed inside = importer.scaled(node, x, 1 / alpha);
    return importer.scaled(node, importer.step(node, "elu", {{"alpha", 1.0}}, {inside}), alpha);
  });
}

// 1 where factor x is above the bound, else 0.
Computed above(Importer& importer, const NodeProto& node, const Computed& x, double factor,
               double bound) {
  const Computed rest = importer.scaled(node, x, factor, -bound);
  return importer.math(node, "sign", importer.step(node, "relu", {}, {rest}));
}

void import_thresholded_relu(Importer& importer, const NodeProto& node) {
  give_of(importer, node, [&](const Computed& x) {
    const Computed gate = above(importer, node, x, 1, real_attribute(node, "alpha", 1));
    return importer.step(node, "multiply", {}, {x, gate});
  });
}

// Elements near 0 become 0, the others come closer to it by the bias.
void import_shrink(Importer& importer, const NodeProto& node) {
  const double bound = real_attribute(node, "lambd", 0.5), bias = real_attribute(node, "bias", 0);
  give_of(importer, node, [&](const Computed& x) {
    const auto side = [&](double sign) {
      return importer.step(
          node, "multiply", {},
          {importer.scaled(node, x, 1, -sign * bias), above(importer, node, x, sign, bound)});
    };
    return importer.step(node, "add", {}, {side(1), side(-1)});
  });
}

void import_math(Importer& importer, const NodeProto& node) {
  std::string function = node.op_type;
  for (char& letter : function) letter = static_cast<char>(std::tolower(letter));
  give_of(importer, node, [&](const Computed& x) { return importer.math(node, function, x); });
}

void import_hard_sigmoid(Importer& importer, const NodeProto& node) {
  give_curve(
      importer, node, "hard_sigmoid",
      {{"alpha", real_attribute(node, "alpha", 0.2)}, {"beta", real_attribute(node, "beta", 0.5)}});
}

void import_gelu(Importer& importer, const NodeProto& node) {
  const bool tanh = word_attribute(node, "approximate", {"none", "tanh"}) == "tanh";
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

void import_cast_like(Importer& importer, const NodeProto& node) {
  const Constant* like = importer.known(node, 1);
  if (like != nullptr && !like->is_real) {
    throw Unsupported(label(node), ": a conversion of computed numbers to ", to_string(like->type));
  }
  importer.give(node, importer.operand(node, 0));
}

// In inference nothing happens; training drops as the file says.
void import_dropout(Importer& importer, const NodeProto& node) {
  if (importer.has(node, 2) && importer.need(node, 2, "training_mode").number(0) != 0 &&
      (!importer.has(node, 1) || importer.need(node, 1, "the ratio").number(0) != 0)) {
    throw Unsupported(label(node), ": training_mode: random results");
  }
  if (node.outputs.size() > 1 && !node.outputs[1].empty()) {  // the mask
    Value mask;
    const std::vector<int64_t> dims = importer.file_dims(importer.operand(node, 0));
    mask.constant = Constant{.dims = dims, .is_real = false, .type = ElementType::boolean};
    const int64_t count = Shape(dims).elements();
    if (count > kMostFoldedElements) throw Unsupported(label(node), ": a mask as a result");
    mask.constant->ints.assign(static_cast<size_t>(count), 1);
    importer.give(node, std::move(mask), 1);
  }
  const double rate = importer.has(node, 1) ? importer.need(node, 1, "the ratio").number(0)
                                            : real_attribute(node, "ratio", 0.5);
  const Value& value = importer.computed_operand(node);
  if (rate <= 0 || rate >= 1 || value.flattened) return import_identity(importer, node);
  const auto make = [&](std::string name) {
    return Dropout({.rate = rate, .name = std::move(name)});
  };
  importer.give(node, importer.apply(node, make, {*value.computed}), value.order);
}

// A computed slope: relu(x) - slope relu(-x).
void give_prelu_of_two(Importer& importer, const NodeProto& node) {
  const Value &x = importer.operand(node, 0), &slope = importer.operand(node, 1);
  const Order order = importer.common_order(x, slope);
  const Computed own = importer.operand_in(node, x, order);
  const Computed negative = importer.step(node, "relu", {}, {importer.scaled(node, own, -1)});
  const Computed part =
      importer.step(node, "multiply", {}, {negative, importer.operand_in(node, slope, order)});
  importer.give(node,
                importer.step(node, "subtract", {}, {importer.step(node, "relu", {}, {own}), part}),
                order);
}

void import_prelu(Importer& importer, const NodeProto& node) {
  const Value& value = importer.operand(node, 0);
  if (importer.known(node, 1) == nullptr) return give_prelu_of_two(importer, node);
  const Constant& slope = importer.need(node, 1, "the slope");
  const std::vector<int64_t> dims = value.dims();
  if (slope.rank() + importer.lead() > std::ssize(dims)) {
    throw Unsupported(label(node), ": a slope of more axes than its operand");
  }
  std::vector<int64_t> aligned(dims.size(), 1);  // in the order of the file
  const bool of_channels = importer.opset() < 7 && slope.rank() == 1 && dims.size() > 1;
  if (of_channels) aligned[1] = slope.dims[0];
  for (size_t i = 0; !of_channels && i < slope.dims.size(); ++i) {
    aligned[dims.size() - 1 - i] = slope.dims[slope.dims.size() - 1 - i];
  }
  if (aligned[0] != 1) throw Unsupported(label(node), ": a slope of each sample");
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
  std::vector<OpImport> imports = {{"Relu", import_simple},
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
                                   {"PRelu", import_prelu},
                                   {"Celu", import_celu},
                                   {"ThresholdedRelu", import_thresholded_relu},
                                   {"Shrink", import_shrink},
                                   {"CastLike", import_cast_like}};
  for (const char* function :
       {"Abs", "Acos", "Acosh", "Asin", "Asinh",      "Atan",    "Atanh", "Ceil",
        "Cos", "Cosh", "Erf",   "Exp",  "Floor",      "Log",     "Round", "Sign",
        "Sin", "Sinh", "Sqrt",  "Tan",  "Reciprocal", "Softsign"}) {
    imports.push_back({function, import_math});
  }
  return imports;
}

}  // namespace pando::onnx

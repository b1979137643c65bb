// Arithmetic of two operands or more.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>

#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"

namespace pando::onnx {
namespace {

const std::map<std::string, std::pair<const char*, const char*>>& ops_of_arithmetic() {
  static const std::map<std::string, std::pair<const char*, const char*>> ops = {
      {"Add", {"add", "Add"}},           {"Sub", {"subtract", "Subtract"}},
      {"Mul", {"multiply", "Multiply"}}, {"Div", {"divide", "Divide"}},
      {"Max", {"maximum", "Maximum"}},   {"Min", {"minimum", "Minimum"}},
      {"Sum", {"add", "Add"}},           {"Mean", {"add", "Add"}},
      {"Pow", {"to_power", "Power"}}};
  return ops;
}

void give_both(Importer& importer, const NodeProto& node, const Value& a, const Value& b) {
  const auto& [op, class_name] = ops_of_arithmetic().at(node.op_type);
  const Order order = importer.common_order(a, b);
  importer.give(
      node,
      importer.apply(node, {.class_name = class_name, .op = op},
                     {importer.operand_in(node, a, order), importer.operand_in(node, b, order)}),
      order);
}

// x op number, or number op x.
void give_number(Importer& importer, const NodeProto& node, const Value& x, double number,
                 bool number_first) {
  const double most = std::numeric_limits<float>::max();
  ir::Attributes attributes;
  std::string op = "scale";
  if (node.op_type == "Add" || node.op_type == "Sum" || node.op_type == "Mean") {
    attributes.set("offset", number);
  }
  if (node.op_type == "Sub") {
    attributes.set("offset", number_first ? number : -number);
    if (number_first) attributes.set("factor", -1.0);
  }
  if (node.op_type == "Mul") attributes.set("factor", number);
  if (node.op_type == "Div") {
    attributes.set("factor", number_first ? number : 1 / number);
  }
  if (node.op_type == "Max" || node.op_type == "Min") {
    op = "clip";
    const double bound = std::clamp(number, -most, most);  // an infinite bound cuts nothing off
    attributes.set("min", node.op_type == "Max" ? bound : -most);
    attributes.set("max", node.op_type == "Max" ? most : bound);
  }
  if (node.op_type == "Pow") {
    op = "to_power";
    attributes.set("exponent", number);
  }
  const Order order = x.flattened ? plain_order(x.order.size()) : x.order;
  Computed own = importer.ordered(x, order);
  if (node.op_type == "Div" && number_first) own = importer.math(node, "reciprocal", own);
  if (node.op_type == "Pow" && number == 2) {
    own = importer.step(node, "multiply", {}, {own, own});
    return importer.give(node, own, order);
  }
  importer.give(
      node,
      importer.apply(node, {.class_name = node.op_type, .op = op, .attributes = attributes}, {own}),
      order);
}

// The axis of the file along which a constant differs; -1: it differs along several.
int64_t only_axis(const std::vector<int64_t>& dims) {
  int64_t axis = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (axis >= 0) return -1;
    axis = static_cast<int64_t>(i);
  }
  return axis;
}

// A number for each element of one axis: a scale or an offset for each channel, which is a
// normalisation with fixed statistics, so that inference can fold it into the layer before.
void give_channels(Importer& importer, const NodeProto& node, const Value& x, int64_t axis,
                   std::vector<float> numbers) {
  Order order = x.order;
  order.erase(std::ranges::find(order, axis));
  order.push_back(axis);
  const auto channels = std::ssize(numbers);
  const bool scales = node.op_type == "Mul" || node.op_type == "Div";
  for (float& number : numbers) {
    if (node.op_type == "Div") number = 1 / number;
    if (node.op_type == "Sub") number = -number;
  }
  const std::vector<float> zeros(numbers.size(), 0), ones(numbers.size(), 1);
  const Shape shape = {channels};
  constexpr double kStays = 1;  // the momentum of statistics that do not move
  const Computed y =
      importer.apply(node,
                     {.class_name = "Scale",
                      .op = "batch_norm",
                      .attributes = {{"epsilon", 1e-30}, {"batch_statistics", int64_t{0}}},
                      .weights = {{"mean", shape, Zeros(), kStays},
                                  {"variance", shape, Ones(), kStays, true},
                                  {"scale", shape, Ones()},
                                  {"offset", shape, Zeros()}}},
                     {importer.ordered(x, order)},
                     {{"mean", weight_tensor(shape, zeros)},
                      {"variance", weight_tensor(shape, ones)},
                      {"scale", weight_tensor(shape, scales ? numbers : ones)},
                      {"offset", weight_tensor(shape, scales ? zeros : numbers)}});
  importer.give(node, y, order);
}

void give_with_constant(Importer& importer, const NodeProto& node, const Value& x,
                        const Constant& constant, bool constant_first) {
  const std::vector<int64_t> dims = x.dims();
  const bool raises = node.op_type == "Pow" && constant_first;
  const bool fits = constant.rank() + importer.lead() <= std::ssize(dims);
  if (constant.elements() == 1 && fits && !raises) {
    return give_number(importer, node, x, constant.number(0), constant_first);
  }
  std::vector<int64_t> aligned(dims.size(), 1);
  for (size_t i = 0; fits && i < constant.dims.size(); ++i) {
    aligned[dims.size() - 1 - i] = constant.dims[constant.dims.size() - 1 - i];
  }
  const int64_t axis = fits ? only_axis(aligned) : -1;
  const bool known = node.op_type == "Add" || node.op_type == "Mul" || node.op_type == "Sum" ||
                     (!constant_first && (node.op_type == "Sub" || node.op_type == "Div"));
  if (axis >= 0 && axis != x.order[0] && known && constant.is_real &&
      aligned[static_cast<size_t>(axis)] == dims[static_cast<size_t>(axis)]) {
    return give_channels(importer, node, x, axis, constant.as_reals());
  }
  Value other;
  other.constant = constant;
  if (constant_first) return give_both(importer, node, other, x);
  give_both(importer, node, x, other);
}

void give_pair(Importer& importer, const NodeProto& node, const Value& a, const Value& b) {
  if (a.computed && b.computed) return give_both(importer, node, a, b);
  if (a.computed) return give_with_constant(importer, node, a, *b.constant, false);
  if (b.computed) return give_with_constant(importer, node, b, *a.constant, true);
  throw Unsupported(label(node), ": constants beside computed values");
}

// Before opset 7, the axes of the second operand are those of the first from `axis` on.
void give_with_axis(Importer& importer, const NodeProto& node, int64_t axis) {
  Constant second = importer.need(node, 1, "an operand at an axis");
  const Value& first = importer.operand(node, 0);
  if (!first.computed) throw Unsupported(label(node), ": an axis of a constant");
  const auto rank = std::ssize(importer.file_dims(first));
  axis = axis_of(node, axis, rank);
  while (axis + second.rank() < rank) second.dims.push_back(1);
  give_with_constant(importer, node, first, second, false);
}

void import_arithmetic(Importer& importer, const NodeProto& node) {
  const AttributeProto* axis = importer.opset() < 7 ? node.find("axis") : nullptr;
  if (axis != nullptr && node.inputs.size() == 2) return give_with_axis(importer, node, axis->i);
  if (node.inputs.size() == 1) return importer.give(node, importer.operand(node, 0));
  if (node.inputs.size() == 2) {
    return give_pair(importer, node, importer.operand(node, 0), importer.operand(node, 1));
  }
  // Operands of Sum, Max and Min are taken two at a time, by nodes that only exist here.
  Value total = importer.operand(node, 0);
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const bool last = i + 1 == node.inputs.size();
    NodeProto step = node;
    if (!last) step.outputs = {concat(node.outputs.at(0), ":partial", i)};
    give_pair(importer, step, total, importer.operand(node, i));
    if (!last) total = importer.operand({.op_type = node.op_type, .inputs = step.outputs}, 0);
  }
}

void import_mean(Importer& importer, const NodeProto& node) {
  NodeProto sum = node;
  sum.outputs = {node.outputs.at(0) + ":sum"};
  import_arithmetic(importer, sum);
  const Value total = importer.operand({.op_type = "Mean", .inputs = sum.outputs}, 0);
  const auto count = static_cast<double>(node.inputs.size());
  importer.give(node, importer.scaled(node, importer.ordered(total, total.order), 1 / count),
                total.order);
}

}  // namespace

std::vector<OpImport> arithmetic_imports() {
  return {{"Add", import_arithmetic}, {"Sub", import_arithmetic}, {"Mul", import_arithmetic},
          {"Div", import_arithmetic}, {"Max", import_arithmetic}, {"Min", import_arithmetic},
          {"Sum", import_arithmetic}, {"Pow", import_arithmetic}, {"Mean", import_mean}};
}

}  // namespace pando::onnx

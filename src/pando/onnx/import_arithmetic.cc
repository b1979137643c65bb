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
      {"Add", {"add", "Add"}},
      {"Sub", {"subtract", "Subtract"}},
      {"Mul", {"multiply", "Multiply"}},
      {"Div", {"divide", "Divide"}},
      {"Max", {"maximum", "Maximum"}},
      {"Min", {"minimum", "Minimum"}},
      {"Sum", {"add", "Add"}}};
  return ops;
}

// Both are computed. They need the same number of axes, since the first is the batch of both.
void give_both(Importer& importer, const NodeProto& node, const Value& a, const Value& b) {
  if (a.order.size() != b.order.size()) {
    throw Unsupported(label(node), ": operands of ", a.order.size(), " and ", b.order.size(),
                      " axes, both computed");
  }
  const auto& [op, class_name] = ops_of_arithmetic().at(node.op_type);
  // The larger operand keeps its order.
  const bool first = a.computed->shape.elements() >= b.computed->shape.elements();
  const Order order = first ? (a.flattened ? plain_order(a.order.size()) : a.order)
                            : (b.flattened ? plain_order(b.order.size()) : b.order);
  importer.give(node,
                importer.apply(node, {.class_name = class_name, .op = op},
                               {importer.ordered(a, order), importer.ordered(b, order)}),
                order);
}

// x op number, or number op x.
void give_number(Importer& importer, const NodeProto& node, const Value& x, double number,
                 bool number_first) {
  const double most = std::numeric_limits<float>::max();
  ir::Attributes attributes;
  std::string op = "scale";
  if (node.op_type == "Add" || node.op_type == "Sum") attributes.set("offset", number);
  if (node.op_type == "Sub") {
    attributes.set("offset", number_first ? number : -number);
    if (number_first) attributes.set("factor", -1.0);
  }
  if (node.op_type == "Mul") attributes.set("factor", number);
  if (node.op_type == "Div") {
    if (number_first) throw Unsupported(label(node), ": a number divided by computed values");
    attributes.set("factor", 1 / number);
  }
  if (node.op_type == "Max" || node.op_type == "Min") {
    op = "clip";
    attributes.set("min", node.op_type == "Max" ? number : -most);
    attributes.set("max", node.op_type == "Max" ? most : number);
  }
  const Order order = x.flattened ? plain_order(x.order.size()) : x.order;
  importer.give(
      node,
      importer.apply(node, {.class_name = node.op_type, .op = op, .attributes = attributes},
                     {importer.ordered(x, order)}),
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
  if (constant.elements() == 1 && constant.rank() <= std::ssize(x.order)) {
    return give_number(importer, node, x, constant.number(0), constant_first);
  }
  const std::vector<int64_t> dims = x.dims();
  std::vector<int64_t> aligned(dims.size(), 1);
  const bool fits = constant.dims.size() <= dims.size();
  for (size_t i = 0; fits && i < constant.dims.size(); ++i) {
    aligned[dims.size() - 1 - i] = constant.dims[constant.dims.size() - 1 - i];
  }
  const int64_t axis = fits ? only_axis(aligned) : -1;
  const bool known = node.op_type == "Add" || node.op_type == "Mul" || node.op_type == "Sum" ||
                     (!constant_first && (node.op_type == "Sub" || node.op_type == "Div"));
  if (axis < 1 || !known || aligned[static_cast<size_t>(axis)] != dims[static_cast<size_t>(axis)]) {
    throw Unsupported(label(node), ": a constant of ", constant.rank(),
                      " axes; expected one number, or one for each channel");
  }
  give_channels(importer, node, x, axis, constant.as_reals());
}

void give_pair(Importer& importer, const NodeProto& node, const Value& a, const Value& b) {
  if (a.computed && b.computed) return give_both(importer, node, a, b);
  if (a.computed) return give_with_constant(importer, node, a, *b.constant, false);
  give_with_constant(importer, node, b, *a.constant, true);
}

void import_arithmetic(Importer& importer, const NodeProto& node) {
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

// Only powers that are products.
void import_power(Importer& importer, const NodeProto& node) {
  const Constant& exponent = importer.need(node, 1, "the exponent");
  if (exponent.elements() != 1 || exponent.number(0) != 2) {
    throw Unsupported(label(node), ": expected the exponent 2");
  }
  const Value& x = importer.operand(node, 0);
  const Order order = x.flattened ? plain_order(x.order.size()) : x.order;
  const Computed own = importer.ordered(x, order);
  importer.give(
      node, importer.apply(node, {.class_name = "Multiply", .op = "multiply"}, {own, own}), order);
}

}  // namespace

std::vector<OpImport> arithmetic_imports() {
  return {{"Add", import_arithmetic}, {"Sub", import_arithmetic}, {"Mul", import_arithmetic},
          {"Div", import_arithmetic}, {"Max", import_arithmetic}, {"Min", import_arithmetic},
          {"Sum", import_arithmetic}, {"Pow", import_power}};
}

}  // namespace pando::onnx

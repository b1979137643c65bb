// Activations and arithmetic.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cctype>

#include "pando/base/error.h"
#include "pando/onnx/exporter_impl.h"
#include "pando/onnx/importer_impl.h"
#include "pando/ops/attribute_values.h"

namespace pando::onnx {
namespace {

std::string input_of(const Exporter& exporter, const ir::Node& node, int i = 0) {
  return exporter.name_of(node.input(i));
}

void export_simple(Exporter& exporter, const ir::Node& node) {
  static const std::map<std::string, std::string> kOps = {
      {"relu", "Relu"},         {"sigmoid", "Sigmoid"}, {"tanh", "Tanh"},
      {"softplus", "Softplus"}, {"selu", "Selu"},       {"checkpoint", "Identity"}};
  exporter.emit(node, kOps.at(node.op()), {input_of(exporter, node)});
}

void export_leaky_relu(Exporter& exporter, const ir::Node& node) {
  exporter.emit(node, "LeakyRelu", {input_of(exporter, node)},
                {attribute("alpha", ops::number_attribute(node, "alpha"))});
}

void export_elu(Exporter& exporter, const ir::Node& node) {
  exporter.emit(node, "Elu", {input_of(exporter, node)},
                {attribute("alpha", ops::number_attribute(node, "alpha"))});
}

void export_hard_sigmoid(Exporter& exporter, const ir::Node& node) {
  exporter.emit(node, "HardSigmoid", {input_of(exporter, node)},
                {attribute("alpha", ops::number_attribute(node, "alpha")),
                 attribute("beta", ops::number_attribute(node, "beta"))});
}

void export_clip(Exporter& exporter, const ir::Node& node) {
  const bool six = node.op() == "relu6";
  const double low = six ? 0 : ops::number_attribute(node, "min");
  const double high = six ? 6 : ops::number_attribute(node, "max");
  if (exporter.opset() < 11) {
    return exporter.emit(node, "Clip", {input_of(exporter, node)},
                         {attribute("min", low), attribute("max", high)});
  }
  exporter.emit(node, "Clip",
                {input_of(exporter, node), exporter.add_number(node, static_cast<float>(low)),
                 exporter.add_number(node, static_cast<float>(high))});
}

// x times a function of x.
void export_swish(Exporter& exporter, const ir::Node& node) {
  const std::string x = input_of(exporter, node);
  const std::string gate = exporter.emit_step(node, "Sigmoid", {x});
  exporter.emit(node, "Mul", {x, gate});
}

void export_hard_swish(Exporter& exporter, const ir::Node& node) {
  const std::string x = input_of(exporter, node);
  if (exporter.opset() >= 14) return exporter.emit(node, "HardSwish", {x});
  const std::string gate = exporter.emit_step(
      node, "HardSigmoid", {x}, {attribute("alpha", 1.0 / 6), attribute("beta", 0.5)});
  exporter.emit(node, "Mul", {x, gate});
}

void export_mish(Exporter& exporter, const ir::Node& node) {
  const std::string x = input_of(exporter, node);
  const std::string soft = exporter.emit_step(node, "Softplus", {x});
  exporter.emit(node, "Mul", {x, exporter.emit_step(node, "Tanh", {soft})});
}

// By the error function: x (1 + erf(x / sqrt 2)) / 2.
void export_gelu(Exporter& exporter, const ir::Node& node) {
  if (ops::number_attribute(node, "approximate") != 0) {
    return exporter.refuse(node, "the formula of gelu with tanh has no form in ONNX");
  }
  const std::string x = input_of(exporter, node);
  const std::string inside =
      exporter.emit_step(node, "Div", {x, exporter.add_number(node, 1.41421356f)});
  const std::string erf = exporter.emit_step(node, "Erf", {inside});
  const std::string more = exporter.emit_step(node, "Add", {erf, exporter.add_number(node, 1)});
  const std::string twice = exporter.emit_step(node, "Mul", {x, more});
  exporter.emit(node, "Mul", {twice, exporter.add_number(node, 0.5f)});
}

void export_prelu(Exporter& exporter, const ir::Node& node) {
  const ir::Value* alpha = node.input(1);
  const Shape& shape = alpha->shape();
  const auto numbers = exporter.weight(alpha).f32();
  Constant slope{
      .dims = shape.dims(), .is_real = true, .reals = {numbers.begin(), numbers.end()}, .ints = {}};
  Order perm;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) perm.push_back(axis);
  if (shape.rank() > 1) std::rotate(perm.begin(), perm.end() - 1, perm.end());
  std::vector<int64_t> dims;
  for (const int64_t axis : perm) dims.push_back(shape[static_cast<int>(axis)]);
  exporter.emit(
      node, "PRelu",
      {input_of(exporter, node), exporter.add_floats(alpha->name(), dims, permuted(slope, perm))});
}

void export_scale(Exporter& exporter, const ir::Node& node) {
  const double factor = ops::number_attribute(node, "factor");
  const double offset = ops::number_attribute(node, "offset");
  std::string x = input_of(exporter, node);
  if (offset == 0) {
    return exporter.emit(node, "Mul", {x, exporter.add_number(node, static_cast<float>(factor))});
  }
  if (factor != 1) {
    x = exporter.emit_step(node, "Mul", {x, exporter.add_number(node, static_cast<float>(factor))});
  }
  exporter.emit(node, "Add", {x, exporter.add_number(node, static_cast<float>(offset))});
}

// An operand with as many axes as the result; axes that it lacks are 1.
std::string aligned(Exporter& exporter, const ir::Node& node, int i) {
  const Shape& own = node.input(i)->shape();
  const int rank = node.output()->shape().rank();
  if (own.rank() == rank) return input_of(exporter, node, i);
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  dims[0] = 0;
  for (int axis = 1; axis < own.rank(); ++axis) {
    dims[static_cast<size_t>(file_axis(axis + rank - own.rank(), rank))] = own[axis];
  }
  return exporter.emit_step(node, "Reshape",
                            {exporter.channels_last(node, node.input(i)),
                             exporter.add_ints(node.name() + "/shape", dims)});
}

void export_arithmetic(Exporter& exporter, const ir::Node& node) {
  static const std::map<std::string, std::string> kOps = {
      {"add", "Add"},     {"subtract", "Sub"}, {"multiply", "Mul"}, {"divide", "Div"},
      {"maximum", "Max"}, {"minimum", "Min"},  {"to_power", "Pow"}};
  const std::string a = aligned(exporter, node, 0), b = aligned(exporter, node, 1);
  exporter.emit(node, kOps.at(node.op()), {a, b});
}

void export_math(Exporter& exporter, const ir::Node& node) {
  std::string op = ops::text_attribute(node, "function");
  if (op == "not") return exporter.refuse(node, "a test for 0 gives truth values in ONNX");
  if (op == "round" && exporter.opset() < 11) return exporter.refuse(node, "needs opset 11");
  op[0] = static_cast<char>(std::toupper(op[0]));
  exporter.emit(node, op, {input_of(exporter, node)});
}

void export_select(Exporter& exporter, const ir::Node& node) {
  constexpr int64_t kBool = 9;
  const std::string condition =
      exporter.emit_step(node, "Cast", {input_of(exporter, node)}, {attribute("to", kBool)});
  std::vector<std::string> operands = {input_of(exporter, node, 1)};
  operands.push_back(node.num_inputs() > 2 ? input_of(exporter, node, 2)
                                           : exporter.add_number(node, 0));
  if (ops::text_attribute(node, "when") == "fails") std::swap(operands[0], operands[1]);
  exporter.emit(node, "Where", {condition, operands[0], operands[1]});
}

void export_power(Exporter& exporter, const ir::Node& node) {
  if (node.num_inputs() == 2) return export_arithmetic(exporter, node);
  const auto exponent = static_cast<float>(ops::number_attribute(node, "exponent"));
  exporter.emit(node, "Pow", {input_of(exporter, node), exporter.add_number(node, exponent)});
}

}  // namespace

std::vector<OpExport> element_exports() {
  return {{"relu", export_simple},
          {"sigmoid", export_simple},
          {"tanh", export_simple},
          {"softplus", export_simple},
          {"selu", export_simple},
          {"checkpoint", export_simple},
          {"leaky_relu", export_leaky_relu},
          {"elu", export_elu},
          {"hard_sigmoid", export_hard_sigmoid},
          {"clip", export_clip},
          {"relu6", export_clip},
          {"swish", export_swish},
          {"hard_swish", export_hard_swish},
          {"mish", export_mish},
          {"gelu", export_gelu},
          {"prelu", export_prelu},
          {"scale", export_scale},
          {"add", export_arithmetic},
          {"subtract", export_arithmetic},
          {"multiply", export_arithmetic},
          {"divide", export_arithmetic},
          {"maximum", export_arithmetic},
          {"minimum", export_arithmetic},
          {"math", export_math},
          {"select", export_select},
          {"to_power", export_power}};
}

}  // namespace pando::onnx

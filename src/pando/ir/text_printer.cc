// SPDX-License-Identifier: MIT
#include "pando/base/strings.h"
#include "pando/ir/text.h"

namespace pando::ir {

namespace {

std::string declaration(const Value& value, bool types) {
  std::string text = value.name();
  if (types && value.typed()) text += ": " + to_string(value.type());
  if (types && !value.layout().plain()) {
    text += concat(" %", value.layout().name, ":", value.layout().elements);
  }
  return text;
}

std::string node_line(const Node& node, bool types) {
  std::vector<std::string> results, operands, attributes;
  for (const Value* value : node.outputs()) results.push_back(declaration(*value, types));
  for (const Value* value : node.inputs()) operands.push_back(value->name());
  for (const auto& [name, value] : node.attributes().values()) {
    attributes.push_back(name + "=" + to_text(value));
  }
  std::string line =
      "  " + join(results, ", ") + " = " + node.op() + "(" + join(operands, ", ") + ")";
  if (!attributes.empty()) line += " {" + join(attributes, ", ") + "}";
  if (node.name() != node.op()) line += " @" + node.name();
  if (node.stage() != 0) line += concat(" ^", node.stage());
  return line + "\n";
}

}  // namespace

std::string to_text(const Graph& graph, PrintOptions options) {
  std::vector<std::string> inputs, outputs;
  for (const Value* value : graph.inputs()) {
    inputs.push_back(concat(declaration(*value, true), " ", to_string(value->role())));
  }
  std::string text = "graph(" + join(inputs, ", ") + ") {\n";
  for (const auto& node : graph.nodes()) text += node_line(*node, options.types);
  for (const Output& output : graph.outputs()) {
    outputs.push_back(concat(to_string(output.role), " ", output.name, "=", output.value->name()));
  }
  return text + "  return " + join(outputs, ", ") + "\n}\n";
}

}  // namespace pando::ir

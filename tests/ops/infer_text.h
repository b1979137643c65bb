// The shape rule of one node as text, for tables of shapes and of errors.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/base/error.h"
#include "tests/support/run_graph.h"

namespace pando::test {

// The types of all values that `nodes` define, or the message of the InvalidArgument. `inputs` is
// "x: f32[2,3], k: f32[3,4]".
inline std::string infer_text(const std::string& inputs, const std::string& nodes) {
  std::string graph_inputs;
  for (const char c : inputs) {
    // A type ends with a bracket; the text form expects the role of the input after it.
    graph_inputs += c;
    if (c == ']') graph_inputs += " feed";
  }
  try {
    const ir::Graph graph = typed_graph(concat("graph(", graph_inputs, ") { ", nodes, " return }"));
    std::string types;
    for (const auto& node : graph.nodes()) {
      for (const ir::Value* value : node->outputs()) {
        types += concat(types.empty() ? "" : " ", to_string(value->type()));
      }
    }
    return types;
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

}  // namespace pando::test

// Runs one pass on IR text and compares the result with IR text, ignoring the names of values.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include <gtest/gtest.h>

#include "pando/compiler/passes/passes.h"
#include "pando/ir/text.h"
#include "pando/ir/verifier.h"

namespace pando::compiler {

// The graph with its values renamed v0, v1, ... in the order of their definition.
inline std::string canonical(const ir::Graph& graph) {
  std::unordered_map<const ir::Value*, std::string> names;
  const auto name = [&](const ir::Value* value) {
    return names.try_emplace(value, "v" + std::to_string(names.size())).first->second;
  };
  std::string text;
  for (const ir::Value* value : graph.inputs()) text += name(value) + " is " + value->name() + "\n";
  for (const auto& node : graph.nodes()) {
    for (const ir::Value* value : node->outputs()) text += name(value) + " ";
    text += "= " + node->op() + "(";
    for (const ir::Value* value : node->inputs()) text += name(value) + " ";
    text += ")";
    for (const auto& [key, value] : node->attributes().values()) {
      text += " " + key + "=" + ir::to_text(value);
    }
    if (node->stage() != 0) text += " stage " + std::to_string(node->stage());
    text += "\n";
  }
  for (const ir::Output& output : graph.outputs()) {
    text += std::string(to_string(output.role)) + " " + output.name + " " + name(output.value);
    text += "\n";
  }
  return text;
}

inline CompileState typed_state(std::string_view text) {
  CompileState state{.graph = ir::parse_graph(text), .options = {}, .kernels = {}, .memory = {}};
  InferShapes().run(state);
  return state;
}

template <typename P>
void expect_rewrite(std::string_view before, std::string_view after) {
  CompileState state = typed_state(before);
  EXPECT_TRUE(P().run(state));
  EXPECT_EQ(canonical(state.graph), canonical(ir::parse_graph(after)));
  EXPECT_NO_THROW(ir::verify(state.graph));
  // The pass must give its results the types that the shape rules infer.
  EXPECT_NO_THROW(InferShapes().run(state));
}

template <typename P>
void expect_unchanged(std::string_view text) {
  CompileState state = typed_state(text);
  const std::string before = canonical(state.graph);
  EXPECT_FALSE(P().run(state));
  EXPECT_EQ(canonical(state.graph), before);
}

}  // namespace pando::compiler

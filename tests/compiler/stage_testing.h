// Shows sections as text, for tests of the passes of a pipeline.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/compiler/pass_testing.h"

namespace pando::compiler {

using Lines = std::vector<std::string>;

// Parses a graph, infers its types and names every node after its first result.
inline CompileState named_state(std::string_view text, ProgramOptions options) {
  CompileState state = typed_state(text);
  state.options = std::move(options);
  for (const auto& node : state.graph.nodes()) node->set_name(node->output()->name());
  return state;
}

// "f0: a b" is the forward section of stage 0 with its nodes, "b0: ..." the backward one.
inline Lines section_lines(const CompileState& state) {
  Lines lines;
  for (const SectionMark& mark : state.sections) {
    lines.push_back((mark.backward ? "b" : "f") + std::to_string(mark.stage) + ":");
  }
  if (lines.empty()) lines.emplace_back("all:");
  int last = 0;
  for (const auto& node : state.graph.nodes()) {
    const int section = state.sections.empty() ? 0 : state.section_of.at(node.get());
    EXPECT_GE(section, last) << node->label();
    last = section;
    lines[static_cast<size_t>(section)] += " " + node->name();
  }
  return lines;
}

}  // namespace pando::compiler

// SPDX-License-Identifier: MIT
#include "pando/compiler/passes/copy_node.h"

namespace pando::compiler {

ir::Node* copy_before(CompileState& state, const ir::Node& node, const ir::Node* position,
                      std::vector<ir::Value*> inputs) {
  ir::Node* copy = state.graph.insert_before(position, {.op = node.op(),
                                                        .inputs = std::move(inputs),
                                                        .outputs = node.num_outputs(),
                                                        .attributes = node.attributes(),
                                                        .name = node.name()});
  for (int i = 0; i < node.num_outputs(); ++i) {
    copy->output(i)->set_type(node.output(i)->type());
    copy->output(i)->set_layout(node.output(i)->layout());
  }
  if (const auto kernel = state.kernels.find(&node); kernel != state.kernels.end()) {
    state.kernels.emplace(copy, KernelChoice(kernel->second));
  }
  if (!state.sections.empty()) state.section_of[copy] = state.section_of.at(position);
  return copy;
}

}  // namespace pando::compiler

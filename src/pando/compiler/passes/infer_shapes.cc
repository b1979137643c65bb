// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/compiler/passes/passes.h"
#include "pando/ops/op.h"

namespace pando::compiler {

bool InferShapes::run(CompileState& state) const {
  bool changed = false;
  for (const auto& node : state.graph.nodes()) {
    const auto types = ops::infer_types(*node);
    for (int i = 0; i < node->num_outputs(); ++i) {
      ir::Value* value = node->output(i);
      const ir::TensorType& type = types[static_cast<size_t>(i)];
      if (value->typed() && value->type() != type) {
        throw InvalidArgument(node->label(), ": '", value->name(), "' is declared ",
                              to_string(value->type()), " but is ", to_string(type));
      }
      changed = changed || !value->typed();
      value->set_type(type);
    }
  }
  return changed;
}

}  // namespace pando::compiler

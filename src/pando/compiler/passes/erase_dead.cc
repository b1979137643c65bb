// SPDX-License-Identifier: MIT
#include "pando/compiler/passes/passes.h"

namespace pando::compiler {

bool EraseDead::run(CompileState& state) const { return state.graph.erase_dead_nodes() > 0; }

}  // namespace pando::compiler

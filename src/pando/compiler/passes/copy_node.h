// Copies a node with its types, layouts, kernel and section.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "pando/compiler/pass.h"

namespace pando::compiler {

// Inserts a copy of the node that reads `inputs` before `position`, in the section of `position`.
ir::Node* copy_before(CompileState& state, const ir::Node& node, const ir::Node* position,
                      std::vector<ir::Value*> inputs);

}  // namespace pando::compiler

// Reverse-mode differentiation: appends the backward graph of a loss to its graph.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "pando/ir/graph.h"

namespace pando::grad {

struct GradientOptions {
  // The values to differentiate by, in the order of the result. Empty: every graph input of role
  // variable, in the order of the inputs.
  std::vector<const ir::Value*> variables;
};

struct VariableGradient {
  const ir::Value* variable = nullptr;
  ir::Value* gradient = nullptr;
};

// Appends nodes that compute the gradients of `loss`, given `seed`, the gradient with respect to
// the loss itself (of the same type). A variable without a path of differentiable ops to the loss
// has no entry in the result. Only nodes on such paths are differentiated, in reverse order; a
// backward node has the name of its forward node with "/grad" appended, and its stage. Throws
// Unsupported for a node that has no gradient. Requires: a typed graph.
std::vector<VariableGradient> append_gradients(ir::Graph& graph, ir::Value* loss, ir::Value* seed,
                                               const GradientOptions& options = {});

// Adds, for each gradient, an output of role gradient with the variable's name.
void add_gradient_outputs(ir::Graph& graph, const std::vector<VariableGradient>& gradients);

}  // namespace pando::grad

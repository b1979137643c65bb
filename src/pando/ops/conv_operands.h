// Finds the operands x, filter and y of a convolution, of its gradients, of a transposed
// convolution and of fusions with pooling, which take them in different orders.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ir/graph.h"

namespace pando::ops {

struct ConvOperands {
  const ir::Value* x = nullptr;       // the input; its gradient in ops that compute that
  const ir::Value* filter = nullptr;  // the filter; its gradient in ops that compute that
  const ir::Value* y = nullptr;       // the result or its gradient; after pooling in a fusion
  bool input_grad = false;
  bool filter_grad = false;
};

// Whether the op multiplies by the transposed filter or weights: an input gradient, or a transposed
// convolution, which computes the same.
inline bool is_input_grad(const ir::Node& node) {
  return node.op().ends_with("input_grad") || node.op() == "conv_transpose";
}

// Requires: one of conv, conv_pool, conv_transpose, conv_input_grad, conv_filter_grad,
// conv_pool_input_grad and conv_pool_filter_grad. A transposed convolution is seen as the input
// gradient that it computes: x is its result and y its input.
inline ConvOperands conv_operands(const ir::Node& node) {
  const std::string& op = node.op();
  if (op == "conv_pool_input_grad") {
    return {node.output(), node.input(2), node.input(0), true, false};
  }
  if (is_input_grad(node)) return {node.output(), node.input(1), node.input(0), true, false};
  if (op == "conv_filter_grad" || op == "conv_pool_filter_grad") {
    return {node.input(0), node.output(), node.input(1), false, true};
  }
  return {node.input(0), node.input(1), node.output(), false, false};
}

}  // namespace pando::ops

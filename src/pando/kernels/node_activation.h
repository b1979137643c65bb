// The activation that a node applies to its result, with its slope.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ir/graph.h"
#include "pando/kernels/activation.h"

namespace pando::kernels {

// The curves that are not lines, in double precision.
double exact_swish(double x);
double exact_hard_swish(double x);

struct NodeActivation {
  Activation kind = Activation::none;
  float alpha = 0;  // the slope of leaky_relu below zero

  float operator()(float x) const;  // NaN is kept so that faults show
  // The derivative at the result y. Requires: an activation whose result determines it, so not
  // swish and hard_swish.
  float slope(float y) const {
    if (kind == Activation::none) return 1;
    if (kind == Activation::relu6 && y >= 6) return 0;
    if (y > 0) return 1;
    return kind == Activation::leaky_relu ? alpha : 0;
  }
};

// None if the node's op has no attribute `activation`; `alpha` may be missing.
NodeActivation node_activation(const ir::Node& node);

}  // namespace pando::kernels

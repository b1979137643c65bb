// The activation that a node applies to its result, with its slope.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ir/graph.h"
#include "pando/kernels/activation.h"

namespace pando::kernels {

struct NodeActivation {
  Activation kind = Activation::none;
  float alpha = 0;  // the slope of leaky_relu below zero

  float operator()(float x) const {
    if (!(x < 0) || kind == Activation::none) return x;  // NaN is kept so that faults show
    return kind == Activation::relu ? 0 : alpha * x;
  }
  // The derivative at the result y.
  float slope(float y) const {
    if (y > 0 || kind == Activation::none) return 1;
    return kind == Activation::relu ? 0 : alpha;
  }
};

// None if the node's op has no attribute `activation`; `alpha` may be missing.
NodeActivation node_activation(const ir::Node& node);

}  // namespace pando::kernels

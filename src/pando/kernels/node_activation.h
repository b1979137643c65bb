// The activation that a node applies to its result, with its slope.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ir/graph.h"
#include "pando/kernels/activation.h"

namespace pando::kernels {

// The curves that are not lines, in double precision.
double exact_swish(double x);
double exact_hard_swish(double x);
double exact_gelu(double x);
double exact_near_gelu(double x);  // by the formula with tanh
double exact_sigmoid(double x);
double exact_elu(double x, double alpha);
double exact_selu(double x);
double exact_softplus(double x);
double exact_mish(double x);

// The constants of "Self-Normalizing Neural Networks" (2017).
inline constexpr double kSeluAlpha = 1.6732632423543772848;
inline constexpr double kSeluScale = 1.0507009873554804934;

// The sigmoid whose product with x approximates gelu is that of factor * (x + cubic * x^3).
inline constexpr double kGeluFactor = 1.5957691216057307117;  // 2 sqrt(2 / pi)
inline constexpr double kGeluCubic = 0.044715;

struct NodeActivation {
  Activation kind = Activation::none;
  float alpha = 0;  // the slope of leaky_relu below zero; that of elu, its limit

  float operator()(float x) const;  // NaN is kept so that faults show
  // The derivative at the result y. Requires: an activation made of lines.
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

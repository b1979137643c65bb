// Activations of vectors that are still in registers.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/fast/vectors.h"
#include "pando/kernels/node_activation.h"

namespace pando::kernels::fast {

// Whether activate_vector applies the activation. The curves are applied to whole rows instead
// (activation_loops.h).
inline bool in_registers(Activation activation) { return activation <= Activation::relu6; }

// Requires: in_registers() holds. NaN is kept.
template <typename Values>
PANDO_INLINE void activate_vector(const NodeActivation& activation, Values& v) {
  if (activation.kind == Activation::none) return;
  const Values below = activation.kind == Activation::leaky_relu ? v * activation.alpha : Values{};
  v = v < 0 ? below : v;
  if (activation.kind != Activation::relu6) return;
  const Values six = Values{} + 6.0f;
  v = v > six ? six : v;
}

// The same for several vectors, with one decision for all.
template <typename Values, int kCount>
PANDO_INLINE void activate_vectors(const NodeActivation& activation, Values (&v)[kCount]) {
  if (activation.kind == Activation::none) return;
  if (activation.kind == Activation::leaky_relu) {
#pragma GCC unroll 32
    for (int n = 0; n < kCount; ++n) v[n] = v[n] < 0 ? v[n] * activation.alpha : v[n];
    return;
  }
#pragma GCC unroll 32
  for (int n = 0; n < kCount; ++n) v[n] = v[n] < 0 ? Values{} : v[n];
  if (activation.kind != Activation::relu6) return;
  const Values six = Values{} + 6.0f;
#pragma GCC unroll 32
  for (int n = 0; n < kCount; ++n) v[n] = v[n] > six ? six : v[n];
}

}  // namespace pando::kernels::fast

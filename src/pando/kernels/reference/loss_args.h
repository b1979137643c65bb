// The operands of losses, for their reference kernels.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/kernel.h"

namespace pando::kernels {

// Probabilities are clipped to [kProbabilityClip, 1 - kProbabilityClip].
inline constexpr float kProbabilityClip = 1e-7f;

// The inputs of a loss: predictions at index `first`, then labels, then optional weights.
struct LossArgs {
  const KernelArgs& args;
  int first;

  const float* predictions(int64_t offset) const { return args.in(first) + offset; }
  double weight(int64_t sample) const {
    return args.num_inputs > first + 2 ? static_cast<double>(args.in(first + 2)[sample]) : 1.0;
  }
};

}  // namespace pando::kernels

// The factor by which standardisation multiplies; the host and the kernels share this rule.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

namespace pando {

// 1 / the standard deviation of f32 values with this mean and variance; 0 for values that differ
// only by rounding, which standardisation would otherwise turn into noise of deviation 1.
inline double inverse_deviation(double mean, double variance) {
  constexpr double kRounding = 0x1p-23;  // of f32, relative to the value
  return variance > mean * mean * (kRounding * kRounding) ? 1.0 / std::sqrt(variance) : 0.0;
}

}  // namespace pando

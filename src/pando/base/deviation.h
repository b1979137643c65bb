// What standardising multiplies with; one rule for the host and the kernels.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

namespace pando {

// 1 / the deviation of f32 values with this mean and variance, 0 for values that are all the same
// but for roundings, which standardising would otherwise turn into noise of deviation 1.
inline double inverse_deviation(double mean, double variance) {
  constexpr double kRounding = 0x1p-23;  // of f32, as a part of the value
  return variance > mean * mean * (kRounding * kRounding) ? 1.0 / std::sqrt(variance) : 0.0;
}

}  // namespace pando

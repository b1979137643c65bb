// Sums and maxima over one row of class scores. Lanes let the compiler vectorise the sums in a
// fixed order.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "pando/base/multiversion.h"
#include "pando/kernels/fast/vector_math.h"

namespace pando::kernels::fast {

inline constexpr int64_t kRowLanes = 16;

// The sum of term(k) over k < count.
template <typename Term>
PANDO_INLINE float sum_lanes(int64_t count, const Term& term) {
  float total = 0;
  int64_t k = 0;
  if (count >= kRowLanes) {
    float lanes[kRowLanes] = {};
    for (; k + kRowLanes <= count; k += kRowLanes) {
      for (int64_t lane = 0; lane < kRowLanes; ++lane) lanes[lane] += term(k + lane);
    }
    for (int64_t step = kRowLanes / 2; step > 0; step /= 2) {
      for (int64_t lane = 0; lane < step; ++lane) lanes[lane] += lanes[lane + step];
    }
    total = lanes[0];
  }
  for (; k < count; ++k) total += term(k);
  return total;
}

// The largest of the numbers; NaN is ignored unless it comes first.
PANDO_INLINE float largest(const float* x, int64_t count) {
  float best = x[0];
  for (int64_t k = 1; k < count; ++k) best = x[k] > best ? x[k] : best;
  return best;
}

// out = e^(x - shift); returns the sum. `out` may be x.
PANDO_INLINE float exponentials(const float* x, float shift, float* out, int64_t count) {
#pragma GCC ivdep
  for (int64_t k = 0; k < count; ++k) out[k] = vector_exp(x[k] - shift);
  return sum_lanes(
      count, [&](int64_t k) __attribute__((always_inline)) { return out[k]; });
}

}  // namespace pando::kernels::fast

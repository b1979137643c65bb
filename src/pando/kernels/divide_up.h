// Rounds sizes to whole blocks.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace pando::kernels {

// Both require a >= 0 and b > 0.
inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t round_up(int64_t a, int64_t b) { return divide_up(a, b) * b; }

}  // namespace pando::kernels

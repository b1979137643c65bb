// Combines the contributions of several tiles to a sum over samples.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "pando/kernels/half/cutting.h"

namespace pando::kernels::half {

// total += newest; with Share::moments, total becomes the moments of both sets of values.
void add_tile(Share share, float* total, const float* newest, int64_t elements);

}  // namespace pando::kernels::half

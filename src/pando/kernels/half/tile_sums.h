// Puts together what several tiles contribute to a sum over samples.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "pando/kernels/half/cutting.h"

namespace pando::kernels::half {

// total becomes the sum of both, or with Share::moments the moments of both sets of values.
void add_tile(Share share, float* total, const float* newest, int64_t elements);

}  // namespace pando::kernels::half

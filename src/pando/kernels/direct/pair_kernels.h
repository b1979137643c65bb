// Inner loops for pairs of bf16 numbers, which processors with AVX512-BF16 multiply and add in one
// instruction. A pair lies in 32 bits, the first number in the low ones. So the panels of
// isa_kernels.h multiply pairs where others multiply f32 numbers: x and w are pairs, y is f32.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

#include "pando/kernels/direct/isa_kernels.h"

namespace pando::kernels::direct {

struct PairKernels {
  IsaKernels panels;  // without Winograd
  // to[i] = the pair of even[i] and odd[i] for i < count. Writes whole vectors of 16 pairs; those
  // after the last one are zero.
  void (*make_pairs)(const uint16_t* even, const uint16_t* odd, int64_t count, float* to);
};

// Requires: cpu_features().avx512_bf16.
const PairKernels& avx512_bf16_kernels();

}  // namespace pando::kernels::direct

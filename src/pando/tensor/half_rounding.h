// Converts runs of numbers between f32 and the 16-bit types. Rounding is to nearest even, or
// stochastic: up or down with the probabilities that make the expectation the number itself, by
// noise that is a function of a key and the element's number, so that results repeat.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "pando/tensor/dtype.h"

namespace pando {

// How a run of numbers is rounded. Element i uses noise number `first` + i of the key.
struct HalfRounding {
  bool stochastic = false;
  bool nan_on_overflow = false;
  uint64_t key = 0;
  uint64_t first = 0;
};

// 16 random bits. The noise of a key repeats after 2^33 numbers.
uint32_t rounding_noise(uint64_t key, uint64_t number);

// The definition of rounding, for one number. A magnitude that nearest rounding would take beyond
// the largest number of the type (65504 for f16), infinity included, becomes that number, or NaN if
// nan_on_overflow is set. NaN stays NaN. Stochastic rounding never goes beyond the largest number.
uint16_t round_half(DType type, float value, const HalfRounding& rounding, uint64_t number);

// The same for runs of numbers, as fast as the processor allows. `from` and `to` must not overlap;
// `type` is f16 or bf16. Overflow raises the processor's overflow flag; the flags for invalid
// operations and divisions by zero are never raised. Results do not depend on whether the thread
// flushes denormals.
void round_halves(DType type, const float* from, uint16_t* to, int64_t count,
                  const HalfRounding& rounding);
void widen_halves(DType type, const uint16_t* from, float* to, int64_t count);

}  // namespace pando

// Conversions of f32 to the integer types, defined for every float; the host, the reference kernel
// and the fast kernel all use these.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>

#include "pando/base/multiversion.h"

namespace pando {

// Rounds towards zero; a value beyond the range gives the nearest limit, NaN gives 0. There are no
// branches, so that loops over it vectorise: the value is limited first, because the conversion of
// a float outside the range is undefined.
PANDO_INLINE int32_t f32_to_i32(float value) {
  constexpr float kLowest = -2147483648.0f;
  constexpr float kHighest = 2147483520.0f;  // the largest float below 2^31
  const float above = value > kLowest ? value : kLowest;
  const auto inside = static_cast<int32_t>(above < kHighest ? above : kHighest);
  const int32_t number = value > kHighest ? std::numeric_limits<int32_t>::max() : inside;
  return value == value ? number : 0;
}

// The low byte of f32_to_i32, as in 8-bit transfers: -1 gives 255 and 256 gives 0.
PANDO_INLINE uint8_t f32_to_u8(float value) { return static_cast<uint8_t>(f32_to_i32(value)); }

}  // namespace pando

// Vectors of eight for loops that the compiler does not vectorise by itself. Each instruction set
// makes of them what it has: one register, or two of half the width.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>

#include "pando/base/multiversion.h"

namespace pando::kernels::fast {

inline constexpr int64_t kLanes = 8;

using Floats = float __attribute__((vector_size(32)));
using Int32s = int32_t __attribute__((vector_size(32)));
using Uint8s = uint8_t __attribute__((vector_size(8)));

// Loads and stores by element type, so that one loop body serves vectors and single numbers.
template <typename Values, typename Element>
PANDO_INLINE void load(const Element* from, Values& values) {
  std::memcpy(&values, from, sizeof(Values));
}
template <typename Values, typename Element>
PANDO_INLINE void store(Element* to, const Values& values) {
  std::memcpy(to, &values, sizeof(Values));
}

// Small numbers in 8 bits.
PANDO_INLINE void store_narrow(uint8_t* to, const Int32s& values) {
  const Uint8s bytes = __builtin_convertvector(values, Uint8s);
  std::memcpy(to, &bytes, sizeof(bytes));
}
PANDO_INLINE void store_narrow(uint8_t* to, const int32_t& value) {
  *to = static_cast<uint8_t>(value);
}

// Bytes to compare with: lane i holds byte i where it happens to lie in its word, all else zero.
// Widening them costs far more than comparing them in place.
PANDO_INLINE void load_bytes(const uint8_t* from, Int32s& values) {
  constexpr Int32s kPlaces = {0xff, 0xff00, 0xff0000, -0x1000000,
                              0xff, 0xff00, 0xff0000, -0x1000000};
  int32_t words[2];
  std::memcpy(words, from, sizeof(words));
  const auto [a, b] = words;
  values = Int32s{a, a, a, a, b, b, b, b} & kPlaces;
}
PANDO_INLINE void load_bytes(const uint8_t* from, int32_t& value) { value = *from; }

// What load_bytes makes of bytes that are all `byte`.
PANDO_INLINE void spread_byte(int32_t byte, Int32s& values) {
  const int32_t word = byte << 24 | byte << 16 | byte << 8 | byte;
  values = Int32s{0xff, 0xff00, 0xff0000, -0x1000000, 0xff, 0xff00, 0xff0000, -0x1000000} & word;
}
PANDO_INLINE void spread_byte(int32_t byte, int32_t& value) { value = byte; }

}  // namespace pando::kernels::fast

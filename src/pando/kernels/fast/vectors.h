// Vectors of eight elements for loops that the compiler does not vectorise by itself. The compiler
// maps each to one register or to two of half the width, depending on the instruction set.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>

#include "pando/base/multiversion.h"

namespace pando::kernels::fast {

inline constexpr int64_t kLanes = 8;

using Floats = float __attribute__((vector_size(32)));
// Sixteen numbers: one register or two.
using WideFloats = float __attribute__((vector_size(64)));
// How many numbers Values holds.
template <typename Values>
inline constexpr int64_t kWidthOf = kLanes* int64_t{sizeof(Values)} / int64_t{sizeof(Floats)};
using Int32s = int32_t __attribute__((vector_size(32)));
using Uint8s = uint8_t __attribute__((vector_size(8)));

// Loads and stores overloaded by element type, so that one loop body works for vectors and for
// single numbers.
template <typename Values, typename Element>
PANDO_INLINE void load(const Element* from, Values& values) {
  std::memcpy(&values, from, sizeof(Values));
}
template <typename Values, typename Element>
PANDO_INLINE void store(Element* to, const Values& values) {
  std::memcpy(to, &values, sizeof(Values));
}

// Stores small numbers in 8 bits.
PANDO_INLINE void store_narrow(uint8_t* to, const Int32s& values) {
  const Uint8s bytes = __builtin_convertvector(values, Uint8s);
  std::memcpy(to, &bytes, sizeof(bytes));
}
PANDO_INLINE void store_narrow(uint8_t* to, const int32_t& value) {
  *to = static_cast<uint8_t>(value);
}

// Loads bytes for comparison: lane i holds byte i at its place in the 32-bit word, and zeros
// elsewhere. Widening the bytes would cost far more than comparing them in place.
PANDO_INLINE void load_bytes(const uint8_t* from, Int32s& values) {
  constexpr Int32s kPlaces = {0xff, 0xff00, 0xff0000, -0x1000000,
                              0xff, 0xff00, 0xff0000, -0x1000000};
  int32_t words[2];
  std::memcpy(words, from, sizeof(words));
  const auto [a, b] = words;
  values = Int32s{a, a, a, a, b, b, b, b} & kPlaces;
}
PANDO_INLINE void load_bytes(const uint8_t* from, int32_t& value) { value = *from; }

// The result of load_bytes for bytes that all equal `byte`.
PANDO_INLINE void spread_byte(int32_t byte, Int32s& values) {
  const int32_t word = byte << 24 | byte << 16 | byte << 8 | byte;
  values = Int32s{0xff, 0xff00, 0xff0000, -0x1000000, 0xff, 0xff00, 0xff0000, -0x1000000} & word;
}
PANDO_INLINE void spread_byte(int32_t byte, int32_t& value) { value = byte; }

}  // namespace pando::kernels::fast

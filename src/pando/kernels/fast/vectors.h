// Vectors of eight for loops that the compiler does not vectorise by itself. Each instruction set
// makes of them what it has: one register, or two of half the width.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>

#include "pando/kernels/multiversion.h"

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

// Small numbers between 32 and 8 bits.
PANDO_INLINE void store_narrow(uint8_t* to, const Int32s& values) {
  const Uint8s bytes = __builtin_convertvector(values, Uint8s);
  std::memcpy(to, &bytes, sizeof(bytes));
}
PANDO_INLINE void store_narrow(uint8_t* to, const int32_t& value) {
  *to = static_cast<uint8_t>(value);
}
PANDO_INLINE void load_narrow(const uint8_t* from, Int32s& values) {
  Uint8s bytes;
  std::memcpy(&bytes, from, sizeof(bytes));
  values = __builtin_convertvector(bytes, Int32s);
}
PANDO_INLINE void load_narrow(const uint8_t* from, int32_t& value) { value = *from; }

}  // namespace pando::kernels::fast

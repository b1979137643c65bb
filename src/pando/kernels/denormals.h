// Denormal numbers cost a hundred times the time of others and mean nothing in training.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace pando::kernels {

// In the calling thread, denormal results and operands count as zero from now on.
inline void flush_denormals() {
#if defined(__x86_64__)
  constexpr unsigned kFlushToZero = 0x8000;
  constexpr unsigned kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#endif
}

}  // namespace pando::kernels

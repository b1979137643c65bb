// Arithmetic on denormal numbers is about a hundred times slower than on others, and training does
// not need their precision.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace pando::kernels {

// From now on the calling thread treats denormal results and operands as zero.
inline void flush_denormals() {
#if defined(__x86_64__)
  constexpr unsigned kFlushToZero = 0x8000;
  constexpr unsigned kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#endif
}

// While it lives, the calling thread treats denormal results and operands as zero; afterwards its
// mode is what it was. For threads that belong to others.
class DenormalsFlushed {
 public:
#if defined(__x86_64__)
  DenormalsFlushed() : before_(_mm_getcsr()) { flush_denormals(); }
  // Keeps the flags of exceptions that were raised.
  ~DenormalsFlushed() { _mm_setcsr(before_ | (_mm_getcsr() & 0x3f)); }
#else
  DenormalsFlushed() = default;
#endif
  DenormalsFlushed(const DenormalsFlushed&) = delete;
  DenormalsFlushed& operator=(const DenormalsFlushed&) = delete;

 private:
#if defined(__x86_64__)
  unsigned before_;
#endif
};

}  // namespace pando::kernels

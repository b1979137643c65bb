// Floating-point exceptions: what the processor noted in the calling thread, and the error that
// says where it was.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

#include "pando/base/error.h"

namespace pando::runtime {

#if defined(__x86_64__)
constexpr unsigned kFpInvalid = 0x01;
constexpr unsigned kFpDivisionByZero = 0x04;
constexpr unsigned kFpOverflow = 0x08;
#else
constexpr unsigned kFpInvalid = FE_INVALID;
constexpr unsigned kFpDivisionByZero = FE_DIVBYZERO;
constexpr unsigned kFpOverflow = FE_OVERFLOW;
#endif

// Those of the three kinds that came up since they were cleared.
inline unsigned raised_fp_exceptions() {
  constexpr unsigned kAll = kFpInvalid | kFpDivisionByZero | kFpOverflow;
#if defined(__x86_64__)
  return _mm_getcsr() & kAll;
#else
  return static_cast<unsigned>(std::fetestexcept(static_cast<int>(kAll)));
#endif
}

inline void clear_fp_exceptions() {
#if defined(__x86_64__)
  constexpr unsigned kFlags = 0x3f;
  _mm_setcsr(_mm_getcsr() & ~kFlags);
#else
  std::feclearexcept(FE_ALL_EXCEPT);
#endif
}

// "invalid operation", "overflow", "division by zero and overflow".
std::string fp_exception_names(unsigned raised);

// When and where in an execution, and how; -1: does not apply.
struct ExecutionPlace {
  int64_t update = -1;   // weight updates before
  int micro_batch = -1;  // those of the weight update before
  int replica = -1;      // among those of all instances
  int instance = -1;     // of several
  bool f16 = false;      // numbers are stored in f16
};
// "weight update 1, micro-batch 1, replica 0": of what comes in time the first is 1.
std::string to_string(const ExecutionPlace& place);

// What an execution that watches for floating-point exceptions ends with.
class FloatingPointError : public Error {
 public:
  explicit FloatingPointError(const std::string& message)
      : Error(ErrorKind::unsupported, message) {}
};

// Throws FloatingPointError that names what came up, and clears it. `what` was computed.
[[noreturn]] void throw_fp_exception(const std::string& what, const ExecutionPlace& place);

}  // namespace pando::runtime

// Floating-point exceptions: those that the processor recorded in the calling thread, and the error
// that says where they were raised.
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

// The exceptions of these three kinds that were raised since the last clear_fp_exceptions().
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

// A place in an execution, for errors; -1: does not apply.
struct ExecutionPlace {
  int64_t update = -1;   // weight updates before this one
  int micro_batch = -1;  // earlier micro-batches of the weight update
  int replica = -1;      // among the replicas of all instances
  int instance = -1;     // of several
  bool f16 = false;      // numbers are stored in f16
};
// "weight update 1, micro-batch 1, replica 0": updates and micro-batches count from 1, replicas and
// instances from 0.
std::string to_string(const ExecutionPlace& place);

// Ends an execution that watches for floating-point exceptions.
class FloatingPointError : public Error {
 public:
  explicit FloatingPointError(const std::string& message)
      : Error(ErrorKind::unsupported, message) {}
};

// Throws a FloatingPointError that names the raised exceptions, and clears them. `what` names what
// was computed.
[[noreturn]] void throw_fp_exception(const std::string& what, const ExecutionPlace& place);

}  // namespace pando::runtime

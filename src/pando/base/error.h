// Errors that end the user's operation. A message names the place, what was expected, what was
// found and, if there is one, the remedy.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

#include "pando/base/strings.h"

namespace pando {

enum class ErrorKind { invalid_argument, unsupported, io, comm, resource, internal };

const char* to_string(ErrorKind kind);

// The root of all errors that Pando throws. Catch this to show a message and continue.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// One thin subclass per kind; the constructor joins its arguments into the message:
//   throw InvalidArgument("conv2d '", name, "': ", channels, " channels ...");
template <ErrorKind error_kind>
class ErrorOf : public Error {
 public:
  template <typename... Parts>
  explicit ErrorOf(const Parts&... parts) : Error(error_kind, concat(parts...)) {}
};

using InvalidArgument = ErrorOf<ErrorKind::invalid_argument>;
using Unsupported = ErrorOf<ErrorKind::unsupported>;
using IoError = ErrorOf<ErrorKind::io>;
using CommError = ErrorOf<ErrorKind::comm>;
using ResourceError = ErrorOf<ErrorKind::resource>;
using InternalError = ErrorOf<ErrorKind::internal>;

[[noreturn]] void fail_check(const char* condition, const char* file, int line,
                             const std::string& detail);

}  // namespace pando

// Checks an invariant of our own code: throws InternalError with the location. Not for user input.
#define PANDO_CHECK(condition, ...)                                        \
  do {                                                                     \
    if (!(condition)) [[unlikely]] {                                       \
      ::pando::fail_check(#condition, __FILE__, __LINE__,                  \
                          ::pando::concat("" __VA_OPT__(, ) __VA_ARGS__)); \
    }                                                                      \
  } while (false)

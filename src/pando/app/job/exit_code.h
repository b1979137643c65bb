// The exit codes of the program and the errors that choose them.
// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <string>

#include "pando/base/error.h"
#include "pando/options/usage_error.h"

namespace pando::app {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;  // the command line or the configuration is wrong
constexpr int kNonFiniteLoss = 3;
constexpr int kStopped = 75;  // by a signal, with a checkpoint or a part of a download saved

// A failure that ends all instances of a job: every instance throws it, and only the one with
// is_told_here() prints the message.
class AgreedFailure : public Error {
 public:
  AgreedFailure(int code, const std::string& message, bool is_told_here)
      : Error(ErrorKind::comm, message), code_(code), is_told_here_(is_told_here) {}
  int code() const { return code_; }
  bool is_told_here() const { return is_told_here_; }

 private:
  int code_;
  bool is_told_here_;
};

// An InvalidArgument from a lower layer (for example an unknown model) gives kUsage too, because
// the user wrote the argument.
int exit_code_of(const std::exception& error);

// The message; with `verbose` followed by the kind and the messages of nested causes.
std::string describe(const std::exception& error, bool verbose);

}  // namespace pando::app

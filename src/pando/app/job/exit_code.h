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

// What ends all instances of a job alike; each of them throws one. One instance tells the user.
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

// An invalid argument that comes from deeper down (an unknown model, say) was written by the user
// too, so it counts as usage.
int exit_code_of(const std::exception& error);

// The message; with `verbose` also the kind and, after it, the messages of nested causes.
std::string describe(const std::exception& error, bool verbose);

}  // namespace pando::app

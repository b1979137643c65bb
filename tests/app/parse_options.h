// Parses command lines of `pando train`.
// SPDX-License-Identifier: MIT
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "pando/app/flags/train_options.h"
#include "pando/app/job/exit_code.h"
#include "tests/support/expect_error.h"

namespace pando::app {

inline TrainOptions parse(const std::vector<std::string>& args) {
  std::ostringstream out;
  return parse_train_options(args, out).value();
}

// The message of the usage error; fails the test if there is none.
inline std::string error(const std::vector<std::string>& args) {
  return testing_support::error_of<UsageError>([&] { parse(args); });
}

}  // namespace pando::app

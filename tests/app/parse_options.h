// Command lines of `pando train`, for tests of what they mean.
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

// What is wrong with them; fails the test when nothing is.
inline std::string error(const std::vector<std::string>& args) {
  return testing_support::error_of<UsageError>([&] { parse(args); });
}

}  // namespace pando::app

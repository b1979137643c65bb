// Runs the program within the test process and captures its output.
// SPDX-License-Identifier: MIT
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "pando/cli/program.h"

namespace pando::cli {

struct Result {
  int code = 0;
  std::string out;
  std::string err;
};

inline Result run(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_program(args, out, err);
  return {code, out.str(), err.str()};
}

}  // namespace pando::cli

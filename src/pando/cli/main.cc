// The program `pando`.
// SPDX-License-Identifier: MIT
#include <iostream>
#include <string>
#include <vector>

#include "pando/app/exit_code.h"
#include "pando/cli/program.h"
#include "pando/comm/session.h"

int main(int argc, char** argv) {
  using pando::comm::Ending;
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const int code = pando::cli::run_program(args, std::cout, std::cerr);
  // Instances of a job come to these ends by agreement, to others each by itself.
  const bool agreed = code == pando::app::kDone || code == pando::app::kStopped ||
                      code == pando::app::kNonFiniteLoss;
  pando::comm::process_session().end(code, agreed ? Ending::together : Ending::alone);
  return code;
}

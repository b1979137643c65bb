// The program `pando`.
// SPDX-License-Identifier: MIT
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "pando/app/job/stop_signal.h"
#include "pando/cli/program.h"

int main(int argc, char** argv) {
  // A file over the limit (ulimit -f) is then an error of its writer.
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const int code = pando::cli::run_program(args, std::cout, std::cerr);
  // Never destroyed: a signal while the process ends does not change its code.
  [[maybe_unused]] static const auto* const ending =
      new pando::app::StopSignal("", pando::app::StopSignal::ClosedOutput::as_before);
  return code;
}

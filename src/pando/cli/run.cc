// `pando run`, and `pando run-instance`, which `pando run` starts on every host.
// SPDX-License-Identifier: MIT
#include <iostream>

#include "pando/cli/program.h"
#include "pando/launch/instance.h"
#include "pando/launch/launcher.h"

namespace pando::cli {

int command_run(std::span<const std::string> args, std::ostream& out) {
  const auto options = launch::parse_run_options(args, out);
  return options ? launch::run_job(*options, out, std::cerr) : 0;
}

int command_run_instance(std::span<const std::string> args, std::ostream& /*out*/) {
  return launch::run_instance(args);
}

}  // namespace pando::cli

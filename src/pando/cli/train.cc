// `pando train`.
// SPDX-License-Identifier: MIT
#include "pando/app/flags/train_options.h"
#include "pando/app/run/job_run.h"
#include "pando/cli/program.h"

namespace pando::cli {

int command_train(std::span<const std::string> args, std::ostream& out) {
  return app::run_in_job(
      [args](std::ostream& told) { return app::parse_train_options(args, told); }, out);
}

}  // namespace pando::cli

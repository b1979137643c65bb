// `pando validate`.
// SPDX-License-Identifier: MIT
#include "pando/app/flags/validate_options.h"
#include "pando/app/run/job_run.h"
#include "pando/cli/program.h"

namespace pando::cli {

int command_validate(std::span<const std::string> args, std::ostream& out) {
  return app::run_in_job(
      [args](std::ostream& told) { return app::parse_validate_options(args, told); }, out);
}

}  // namespace pando::cli

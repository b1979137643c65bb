// `pando validate`.
// SPDX-License-Identifier: MIT
#include "pando/app/job_run.h"
#include "pando/app/validate_options.h"
#include "pando/cli/program.h"
#include "pando/comm/session.h"

namespace pando::cli {

int run_validate(std::span<const std::string> args, std::ostream& out) {
  comm::process_session().join();  // the options depend on the job
  return app::run_in_job(
      [args](std::ostream& told) { return app::parse_validate_options(args, told); }, out);
}

}  // namespace pando::cli

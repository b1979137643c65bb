// `pando train`.
// SPDX-License-Identifier: MIT
#include "pando/app/train_options.h"
#include "pando/app/train_run.h"
#include "pando/cli/program.h"
#include "pando/comm/session.h"

namespace pando::cli {

int run_train(std::span<const std::string> args, std::ostream& out) {
  const auto options = app::parse_train_options(args, out);
  if (!options) return 0;
  comm::process_session().join();
  return app::run_training(*options, out);
}

}  // namespace pando::cli

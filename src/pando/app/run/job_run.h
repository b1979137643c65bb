// From a command line to a run, on all instances of a job.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <ostream>

#include "pando/app/flags/train_options.h"

namespace pando::app {

// Understands a command line; gives nothing when it has answered a question on `out`.
using ParseOptions = std::function<std::optional<TrainOptions>(std::ostream& out)>;

// Parses, checks that all instances are about to do the same, and trains or validates
// (training_run.h); gives the exit code. Only the first instance writes to `out`. Throws an
// AgreedFailure, on all instances, for a command line that is wrong on one or differs between them.
int run_in_job(const ParseOptions& parse, std::ostream& out);

}  // namespace pando::app

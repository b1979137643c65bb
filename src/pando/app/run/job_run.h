// Parses a command line and starts the run, on all instances of a job.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <ostream>

#include "pando/app/flags/train_options.h"
#include "pando/app/run/training_setup.h"

namespace pando::app {

// Parses a command line. Returns nothing if the user asked for information such as --help, which it
// has written to `out`.
using ParseOptions = std::function<std::optional<TrainOptions>(std::ostream& out)>;

// Parses, checks that all instances have the same options, and trains or validates
// (training_run.h); returns the exit code. Only the first instance writes to `out`. Throws an
// AgreedFailure on all instances if the command line is wrong on one or differs between them.
int run_in_job(const ParseOptions& parse, std::ostream& out, const TrainingParts& parts = {});

}  // namespace pando::app

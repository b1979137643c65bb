// The body of `pando train`: data, model, training, validation, run directory.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>

#include "pando/app/flags/train_options.h"

namespace pando::app {

// Trains as the options say and gives the exit code. Results go to `out`, the progress bar to
// standard output. Throws for what ends the run, which the log of the run directory then tells too.
// All instances of a job call it alike; only the first writes to `out` and into the run directory.
int run_training(const TrainOptions& options, std::ostream& out);

}  // namespace pando::app

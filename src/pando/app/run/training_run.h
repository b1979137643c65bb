// The body of `pando train`: data, model, training, validation, run directory.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>

#include "pando/app/flags/train_options.h"
#include "pando/app/run/training_setup.h"

namespace pando::app {

// Trains as the options say and returns the exit code. Results go to `out`, the progress bar to
// standard output. Throws the error that ends the run, which is also written to the log of the run
// directory. All instances of a job make the same call; only the first writes to `out` and into the
// run directory.
int run_training(const TrainOptions& options, std::ostream& out, const TrainingParts& parts = {});

}  // namespace pando::app

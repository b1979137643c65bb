// The body of `pando train`: data, model, training, validation, run directory.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/app/train_options.h"

namespace pando::app {

// Trains as the options say and gives the exit code. Throws for what ends the run.
int run_training(const TrainOptions& options);

}  // namespace pando::app

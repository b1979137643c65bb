// Counts what a run of `pando train` will hold in memory, before it takes it.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/app/run/training_setup.h"

namespace pando::app {

// Counts programs, batches, copies for checkpoints and the class report; compiles the programs of
// training and validation. Returns the table. Throws OverMemoryLimit if a limit leaves less, with
// the micro-batch or image size that would fit.
std::string check_memory(TrainingSetup& setup);

}  // namespace pando::app

// Implements `pando train --dry-run`.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/app/run/training_setup.h"

namespace pando::app {

// Times a few weight updates, without counting the first one, and prints the memory, the idle time
// of a pipeline and the expected time of an epoch. Returns the exit code.
int try_a_few_updates(TrainingSetup& setup);

}  // namespace pando::app

// What `pando train --dry-run` does in place of training.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/app/run/training_setup.h"

namespace pando::app {

// Times a few weight updates, the first of which is not counted, and tells memory, idle time of a
// pipeline and what an epoch would take. Gives the exit code.
int try_a_few_updates(TrainingSetup& setup);

}  // namespace pando::app

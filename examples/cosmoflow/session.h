// Training with a Model: one call of fit, whose executions are the loops.
// SPDX-License-Identifier: MIT
#pragma once

#include "data.h"
#include "run.h"

namespace cosmo {

// Returns the exit code of the program.
int run_session(const Run& run, const Data& data);

}  // namespace cosmo

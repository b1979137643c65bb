// Training with an Estimator: the same network, described by a function. A later run continues from
// its folder.
// SPDX-License-Identifier: MIT
#pragma once

#include "data.h"
#include "run.h"

namespace cosmo {

// Returns the exit code of the program.
int run_estimator(const Run& run, const Data& data);

}  // namespace cosmo

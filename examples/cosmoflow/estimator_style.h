// Training with an Estimator: the same network, told by a function, in a folder that a later run
// goes on from.
// SPDX-License-Identifier: MIT
#pragma once

#include "data.h"
#include "run.h"

namespace cosmo {

// Gives the exit code of the program.
int run_estimator(const Run& run, const Data& data);

}  // namespace cosmo

// Measures how fast the host prepares batches, without any training.
// SPDX-License-Identifier: MIT
#pragma once

#include "data.h"
#include "run.h"

namespace cosmo {

// Returns the exit code of the program.
int run_data_benchmark(const Run& run, const Data& data);

}  // namespace cosmo

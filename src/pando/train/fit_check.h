// Checks the options of a fit.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/train/model.h"

namespace pando::train {

// Throws an InvalidArgument that names the first wrong option.
void check_fit(const Dataset& data, const FitOptions& options);

// Whether epochs follow each other without a gap, so that a batch may hold samples of two.
bool carries_remainder(const FitOptions& options);

// The weight updates of an epoch that the options ask for; 0: as many as the data fill.
// `accumulation` is the number of steps of a weight update. Throws InvalidArgument when the steps
// are not whole weight updates.
int64_t wanted_updates(const FitOptions& options, int64_t accumulation);

}  // namespace pando::train

// Checks the options of a fit.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/train/model.h"

namespace pando::train {

// Throws an InvalidArgument that names the first wrong option.
void check_fit(const Dataset& data, const FitOptions& options);

}  // namespace pando::train

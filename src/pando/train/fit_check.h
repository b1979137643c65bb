// Whether a fit can be made as its options say.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/train/model.h"

namespace pando::train {

// Throws InvalidArgument that names the first option that is wrong.
void check_fit(const Dataset& data, const FitOptions& options);

}  // namespace pando::train

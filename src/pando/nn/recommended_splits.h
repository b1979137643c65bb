// Where a pipeline could be cut by the sizes of weights alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/nn/network.h"

namespace pando {

// The layers at which `stages` stages would hold about equally many weights each: for each k, the
// layer of the first weight with which k of the `stages` shares are complete. Equal names stand
// once, and so does the first layer not at all, so there may be fewer than stages - 1. Advice only:
// it knows nothing of times.
std::vector<std::string> recommended_splits(const Network& network, int stages);

}  // namespace pando

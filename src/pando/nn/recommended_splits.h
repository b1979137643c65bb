// Suggests where to split a network into pipeline stages, by the sizes of the weights alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/nn/network.h"

namespace pando {

// The layers that split the network into `stages` stages with about the same number of weights. For
// each k below `stages`, this is the layer at which the cumulative number of weights reaches
// k / `stages` of the total. A name is listed once and the first layer never, so there may be fewer
// than stages - 1 names. The result is only a suggestion, because it ignores the time of layers.
std::vector<std::string> recommended_splits(const Network& network, int stages);

}  // namespace pando

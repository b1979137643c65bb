// Activations in place, for results that are still in the first level of the cache.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "pando/kernels/node_activation.h"

namespace pando::kernels::fast {

void activate(const NodeActivation& activation, float* y, int64_t count);

}  // namespace pando::kernels::fast

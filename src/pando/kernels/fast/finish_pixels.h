// What follows the sums of a convolution or a dense layer, for kernels that do not do it
// themselves.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "pando/kernels/node_activation.h"

namespace pando::kernels::fast {

// Adds the bias (may be null) to every pixel and applies the activation.
void finish_pixels(float* y, int64_t pixels, int64_t channels, const float* bias,
                   const NodeActivation& activation);

}  // namespace pando::kernels::fast

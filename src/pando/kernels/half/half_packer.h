// Packing of half variables: widened, then packed as the f32 kernel wants it; or packed as they are
// for a kernel that takes them in 16 bits.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/kernel.h"

namespace pando::kernels::half {

// The packing of an input of `node`, which is a half variable, or an f32 one behind a node
// round_variable: then its packer reads the f32 variable and rounds as that node does.
Packing of_half_variable(Packing packing, const ir::Node& node);

}  // namespace pando::kernels::half

// Packs half variables: widens them and packs them as the f32 kernel requires, or packs them
// without conversion for a kernel that reads 16 bits.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/kernel.h"

namespace pando::kernels::half {

// The packing of an input of `node`. The input is a half variable, or the result of a node
// round_variable: then the packer reads the f32 variable and rounds as that node does.
Packing of_half_variable(Packing packing, const ir::Node& node);

}  // namespace pando::kernels::half

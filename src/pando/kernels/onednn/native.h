// Decides when oneDNN's products of 16-bit numbers are used: where the processor has instructions
// for them. The sums are f32; the caller rounds them.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/ir/graph.h"
#include "pando/kernels/winograd_tiles.h"

namespace pando::kernels {

// Why oneDNN should not multiply numbers of this type without conversion; empty if it should.
std::string why_not_native(DType dtype);

// Why the candidate "native" should not be chosen for a node with 16-bit operands; empty if it
// should. The first function is for convolutions, dense layers and their input gradients, the
// second for the gradients of filters and of dense weights.
std::string why_not_native_product(const ir::Node& node, WinogradTiles most);
std::string why_not_native_filter_grad(const ir::Node& node, WinogradTiles most);

}  // namespace pando::kernels

// Convolution and max pooling of bf16 numbers in one pass, by the processor's own products of
// pairs: the pass of forward_pool.h with pairs of channels instead of f32 numbers. Sums are f32 and
// are rounded after pooling, sample by sample.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/kernel.h"

namespace pando::kernels {

// The offer for a node conv_pool whose operands are bf16.
KernelOffer bf16_conv_pool(const ir::Node& node);

// Why this processor, or the instruction set in use, cannot compute it; empty if it can.
std::string why_not_bf16_conv_pool(const ir::Node& node, WinogradTiles most);

}  // namespace pando::kernels

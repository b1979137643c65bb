// Half partials: the sums of products of convolutions and dense layers are cut into blocks of
// kPartialChannels channels of the axis that is summed over, with all positions of the window. The
// sum of a block is computed in f32 and rounded to half, and so is every total of blocks, in the
// order of the channels; always to nearest. Bias and activation come afterwards. A convolution with
// groups is one block. Kernel gradients are such totals over the samples of a slice.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/kernel.h"

namespace pando::kernels::half {

constexpr int64_t kPartialChannels = 16;

// Whether the node computes with half partials.
bool has_partials(const ir::Node& node);

// The candidate's f32 kernel for an f32 node, with sums rounded to `half` on the way. Requires: a
// convolution or a dense layer, or its gradient for the input.
KernelOffer offer_in_partials(const Candidate& candidate, const ir::Node& node, DType half);

// total = the half next to (total + the half next to newest); newest is overwritten.
void add_partial(DType half, float* total, float* newest, int64_t count);
// Each number becomes the half next to it.
void round_partial(DType half, float* values, int64_t count);

}  // namespace pando::kernels::half

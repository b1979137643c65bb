// Half partials: the sums of products of convolutions and dense layers are cut into blocks of
// kPartialChannels channels of the summed axis, with all positions of the window. The sum of a
// block is computed in f32 and rounded to half, and so is every total of blocks, in the order of
// the channels; rounding is always to nearest. Bias and activation follow. A convolution with
// groups is one block. Filter gradients are such totals over the samples of a slice.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/kernel.h"

namespace pando::kernels::half {

constexpr int64_t kPartialChannels = 16;

// Whether the node computes with half partials.
bool has_partials(const ir::Node& node);

// The candidate's f32 kernel for an f32 node, with partial sums rounded to `half`. Requires: the
// node is a convolution, a dense layer or an input gradient of one.
KernelOffer offer_in_partials(const Candidate& candidate, const ir::Node& node, DType half);

// Rounds `newest` to half, adds it to `total` and rounds the total to half. Overwrites newest.
void add_partial(DType half, float* total, float* newest, int64_t count);
// Rounds each number to the nearest half.
void round_partial(DType half, float* values, int64_t count);

}  // namespace pando::kernels::half

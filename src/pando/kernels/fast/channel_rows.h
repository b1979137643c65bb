// Loops over channels-last data with one number per channel. The per-channel numbers are repeated
// to a row of several pixels, so that any number of channels fills whole vectors.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "pando/kernels/activation.h"
#include "pando/kernels/fast/halves.h"

namespace pando::kernels::fast {

// A row of `repeat` pixels: the period of the per-channel numbers in the loops below.
struct ChannelRow {
  int64_t channels = 1;
  int64_t repeat = 1;
  int64_t length() const { return channels * repeat; }
};

ChannelRow channel_row(int64_t channels);

// The elements that the sums below read at a time.
int64_t block_elements(ChannelRow row);

// Repeats the first `channels` numbers of a row over the rest of the row.
void repeat_channels(ChannelRow row, float* numbers);

// y = activation((x - center) * scale + shift), with rows of numbers.
struct AffineRows {
  const float* center = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;
  Activation activation = Activation::none;
  float alpha = 0;
};
void apply_affine(const float* x, float* y, int64_t count, ChannelRow row, const AffineRows& rows);

// Counts dy as 0 where y = (x - center) * scale + shift is not above 0 and below the ceiling: the
// mask of relu and relu6 after a normalisation, computed again with the bits of forward.
struct MaskRows {
  const float* scale = nullptr;  // null: no mask
  const float* shift = nullptr;
  float ceiling = std::numeric_limits<float>::infinity();
};

// dx = dy * scale + (x - center) * slope + shift, with dy masked. Without slope and mask, x is not
// read.
struct GradientRows {
  const float* center = nullptr;
  const float* scale = nullptr;
  const float* slope = nullptr;
  const float* shift = nullptr;
  MaskRows mask;
};
struct GradientData {
  const float* dy = nullptr;
  const float* x = nullptr;
  float* dx = nullptr;
};
void apply_gradient(const GradientData& data, int64_t count, ChannelRow row,
                    const GradientRows& rows);

// The memory of the sums below: first the totals, then the rows.
struct ChannelScratch {
  ChannelScratch(ChannelRow row, std::byte* memory);
  static size_t bytes(ChannelRow row);
  double* first;   // [channels]: mean, or sum of dy
  double* second;  // [channels]: sum of squared deviations, or sum of dy * (x - center)
  float* center;   // [length]
  float* rows[2];  // [length]: sums of one block
};

// Computes, for each channel, the mean over `pixels` pixels and the sum of squared deviations from
// it. Works block by block while a block is in cache. Each block is summed relative to the mean of
// the blocks before it, which keeps precision however far the mean is from zero. Without pixels
// both results are 0.
void sum_moments(const Elements& x, int64_t pixels, ChannelRow row, ChannelScratch& scratch);

// Sets the totals to 0 before add_values and add_products.
void clear_totals(ChannelRow row, ChannelScratch& scratch);

// Adds the sums over pixels of x to the first totals.
void add_values(const float* x, int64_t pixels, ChannelRow row, ChannelScratch& scratch);

// Adds the sums over pixels of the masked dy and of its products with (x - center) to the totals.
// The caller fills scratch.center.
struct GradientElements {
  Elements dy;
  Elements x;
};
void add_products(const GradientElements& data, int64_t pixels, ChannelRow row,
                  ChannelScratch& scratch, const MaskRows& mask = {});

}  // namespace pando::kernels::fast

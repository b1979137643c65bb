// Loops over channels-last data with one number per channel. The numbers of a channel are repeated
// to a row of several pixels, so that any count of channels fills whole vectors.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "pando/kernels/activation.h"

namespace pando::kernels::fast {

// A row of `repeat` pixels: the period of the per-channel numbers in the loops below.
struct ChannelRow {
  int64_t channels = 1;
  int64_t repeat = 1;
  int64_t length() const { return channels * repeat; }
};

ChannelRow channel_row(int64_t channels);

// Copies the first `channels` numbers of a row to the rest of it.
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

// dx = dy * scale + (x - center) * slope + shift, with dy first set to 0 where mask <= 0 when
// there is a mask. Without a slope x is not read.
struct GradientRows {
  const float* center = nullptr;
  const float* scale = nullptr;
  const float* slope = nullptr;
  const float* shift = nullptr;
};
struct GradientData {
  const float* dy = nullptr;
  const float* x = nullptr;
  const float* mask = nullptr;
  float* dx = nullptr;
};
void apply_gradient(const GradientData& data, int64_t count, ChannelRow row,
                    const GradientRows& rows);

// Where the sums below keep their rows and their totals; the totals stand at the front.
struct ChannelScratch {
  ChannelScratch(ChannelRow row, std::byte* memory);
  static size_t bytes(ChannelRow row);
  double* first;   // [channels]: mean, or sum of dy
  double* second;  // [channels]: sum of squared deviations, or sum of dy * (x - center)
  float* center;   // [length]
  float* rows[2];  // [length]: sums of one block
};

// Mean and sum of squared deviations from it of each channel over `pixels` pixels, block by block
// while the block is in cache. Each block is summed about the mean of those before it, which loses
// nothing however far the mean is from zero. Without pixels both are 0.
void sum_moments(const float* x, int64_t pixels, ChannelRow row, ChannelScratch& scratch);

// Sets the totals to 0, for the sums of products.
void clear_totals(ChannelRow row, ChannelScratch& scratch);

// Adds the sums over pixels of dy and of dy * (x - center) to the totals. The caller fills
// scratch.center; data.mask as above.
void add_products(const GradientData& data, int64_t pixels, ChannelRow row,
                  ChannelScratch& scratch);

}  // namespace pando::kernels::fast

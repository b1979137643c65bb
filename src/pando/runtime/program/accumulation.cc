// SPDX-License-Identifier: MIT
#include "pando/runtime/program/accumulation.h"

#include <algorithm>

#include "pando/base/multiversion.h"

namespace pando::runtime {

PANDO_MULTIVERSION void add_to(float* __restrict total, const float* __restrict values,
                               int64_t count) {
  for (int64_t i = 0; i < count; ++i) total[i] += values[i];
}

PANDO_MULTIVERSION void scale_to(float* total, const float* values, int64_t count, float factor) {
  for (int64_t i = 0; i < count; ++i) total[i] = values[i] * factor;
}

namespace {

PANDO_MULTIVERSION void weigh(float* __restrict total, const float* __restrict values,
                              int64_t count, float keep, float take) {
  for (int64_t i = 0; i < count; ++i) total[i] = total[i] * keep + values[i] * take;
}

}  // namespace

void mix_into(float* total, const float* values, int64_t count, const MixWeights& weights) {
  if (weights.plain()) return add_to(total, values, count);
  weigh(total, values, count, weights.keep, weights.take);
}

void mix_stored(const Stored& total, const Stored& values, int64_t count, const MixWeights& weights,
                const HalfRounding& rounding) {
  alignas(64) float kept[kStoredBlock];
  alignas(64) float taken[kStoredBlock];
  for (int64_t at = 0; at < count; at += kStoredBlock) {
    const Block block{at, std::min(kStoredBlock, count - at)};
    float* opened = total.open(block, kept);
    mix_into(opened, values.open(block, taken), block.count, weights);
    total.close(block, opened, rounding);
  }
}

void sum_lanes(std::span<const Stored> lanes, std::span<const float> weights, int64_t count,
               float* total) {
  alignas(64) float space[kStoredBlock];
  for (int64_t at = 0; at < count; at += kStoredBlock) {
    const Block block{at, std::min(kStoredBlock, count - at)};
    const float* first = lanes[0].open(block, space);
    if (!weights.empty()) {
      scale_to(total + at, first, block.count, weights[0]);
    } else if (first != total + at) {
      std::copy_n(first, block.count, total + at);
    }
    for (size_t lane = 1; lane < lanes.size(); ++lane) {
      const float take = weights.empty() ? 1.0f : weights[lane];
      mix_into(total + at, lanes[lane].open(block, space), block.count, {.keep = 1, .take = take});
    }
  }
}

// Chan, Golub and LeVeque's formula for two sets of values.
void merge_moments(float* total, const float* more, int64_t channels) {
  const double n = static_cast<double>(total[2 * channels]);
  const double m = static_cast<double>(more[2 * channels]);
  if (m == 0) return;
  for (int64_t c = 0; c < channels; ++c) {
    const double mean = static_cast<double>(total[c]);
    const double away = static_cast<double>(more[c]) - mean;
    total[c] =
        static_cast<float>(n == 0 ? static_cast<double>(more[c]) : mean + away * m / (n + m));
    total[channels + c] =
        static_cast<float>(static_cast<double>(n == 0 ? 0 : total[channels + c]) +
                           static_cast<double>(more[channels + c]) + away * away * n * m / (n + m));
  }
  total[2 * channels] = static_cast<float>(n + m);
}

}  // namespace pando::runtime

// SPDX-License-Identifier: MIT
#include "pando/runtime/accumulation.h"

#include <algorithm>

#include "pando/base/multiversion.h"

namespace pando::runtime {

PANDO_MULTIVERSION void add_to(float* __restrict total, const float* __restrict values,
                               int64_t count) {
  for (int64_t i = 0; i < count; ++i) total[i] += values[i];
}

namespace {

PANDO_MULTIVERSION void weigh(float* __restrict total, const float* __restrict values,
                              int64_t count, float keep, float take) {
  for (int64_t i = 0; i < count; ++i) total[i] = total[i] * keep + values[i] * take;
}

PANDO_MULTIVERSION void scale(float* values, int64_t count, float factor) {
  for (int64_t i = 0; i < count; ++i) values[i] *= factor;
}

}  // namespace

void mix_into(float* total, const float* values, int64_t count, const MixWeights& weights) {
  if (weights.plain()) return add_to(total, values, count);
  weigh(total, values, count, weights.keep, weights.take);
}

void sum_lanes(std::span<float* const> lanes, std::span<const float> weights, int64_t count) {
  constexpr int64_t kBlock = 4096;  // stays in the first-level cache
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t block = std::min(kBlock, count - at);
    float* total = lanes[0] + at;
    if (!weights.empty()) scale(total, block, weights[0]);
    for (size_t lane = 1; lane < lanes.size(); ++lane) {
      const float take = weights.empty() ? 1.0f : weights[lane];
      mix_into(total, lanes[lane] + at, block, {.keep = 1, .take = take});
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

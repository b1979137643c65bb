// What is put together over the micro-batches of a weight update, element by element.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

namespace pando::runtime {

// total[i] += values[i].
void add_to(float* total, const float* values, int64_t count);

// total[i] = total[i] * keep + values[i] * take.
struct MixWeights {
  float keep = 1;
  float take = 1;
  bool plain() const { return keep == 1 && take == 1; }
};
void mix_into(float* total, const float* values, int64_t count, const MixWeights& weights);

// lanes[0][i] becomes the sum over all lanes of lane[i] times its weight, added in order. No
// weights: all 1.
void sum_lanes(std::span<float* const> lanes, std::span<const float> weights, int64_t count);

// Moments as batch_moments makes them: per channel the mean, per channel the sum of squared
// deviations from it, then the number of values per channel. `total` becomes those of both sets.
void merge_moments(float* total, const float* more, int64_t channels);

}  // namespace pando::runtime

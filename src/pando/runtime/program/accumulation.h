// Sums and means over the micro-batches of a weight update, element by element.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "pando/runtime/program/stored.h"

namespace pando::runtime {

// total[i] += values[i].
void add_to(float* total, const float* values, int64_t count);

// total[i] = values[i] * factor; both may be the same memory.
void scale_to(float* total, const float* values, int64_t count, float factor);

// total[i] = total[i] * keep + values[i] * take.
struct MixWeights {
  float keep = 1;
  float take = 1;
  bool plain() const { return keep == 1 && take == 1; }
};
void mix_into(float* total, const float* values, int64_t count, const MixWeights& weights);
// The same for numbers of one stored type, rounded back to it.
void mix_stored(const Stored& total, const Stored& values, int64_t count, const MixWeights& weights,
                const HalfRounding& rounding);

// total[i] becomes the sum over all lanes of lane[i] times its weight, added in order. No weights:
// all 1. `total` may be the memory of the first lane.
void sum_lanes(std::span<const Stored> lanes, std::span<const float> weights, int64_t count,
               float* total);

// Moments as batch_moments makes them: per channel the mean, per channel the sum of squared
// deviations from it, then the number of values per channel. `total` becomes the moments of both
// sets together.
void merge_moments(float* total, const float* more, int64_t channels);

}  // namespace pando::runtime

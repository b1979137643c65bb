// Which validated samples a report shows: some of every cell of the confusion matrix, and the
// mistakes of which the network was most sure.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pando/tensor/tensor.h"

namespace pando::app {

struct ClassifiedSample {
  int64_t index = 0;  // in the validation data
  int32_t label = 0;
  int32_t predicted = 0;
  float confidence = 0;  // the probability of the predicted class, from 0 to 1
};

// The samples of a network's outputs, f32 [samples, classes]: probabilities, or logits, of which
// softmax makes probabilities. Samples with an output that is not finite are left out. Sample i has
// the index first + i * step. Requires: as many labels as rows.
std::vector<ClassifiedSample> classified_samples(const Tensor& outputs,
                                                 std::span<const int32_t> labels, int64_t first = 0,
                                                 int64_t step = 1);

struct ClassSampleLimits {
  size_t samples = 600;
  size_t most_confident = 24;  // mistakes, from any cell
  size_t per_mistake = 12;     // of a cell off the diagonal
  size_t per_hit = 6;          // of a cell on the diagonal
};

// At most limits.samples: first the mistakes, the most confident first; then the most confident
// samples of every cell, one cell after the other, cells with more samples first.
std::vector<ClassifiedSample> chosen_samples(std::vector<ClassifiedSample> samples,
                                             const ClassSampleLimits& limits = {});

}  // namespace pando::app

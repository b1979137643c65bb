// SPDX-License-Identifier: MIT
#include "pando/app/report/class_samples.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "pando/base/error.h"

namespace pando::app {
namespace {

// Whether the numbers of a row are shares of 1; otherwise they are logits.
bool are_probabilities(std::span<const float> row) {
  constexpr double kRounding = 0.01;  // of sums in 16 bits
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  return std::abs(sum - 1) < kRounding && std::ranges::all_of(row, [](float x) { return x >= 0; });
}

float confidence_of(std::span<const float> row, float largest) {
  if (are_probabilities(row)) return std::min(largest, 1.0f);
  double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<double>(logit - largest));
  return static_cast<float>(1 / sum);
}

bool is_surer(const ClassifiedSample& a, const ClassifiedSample& b) {
  return a.confidence != b.confidence ? a.confidence > b.confidence : a.index < b.index;
}

// The samples of each cell, the surest first; the cells with most samples first.
std::vector<std::vector<ClassifiedSample>> cells_of(const std::vector<ClassifiedSample>& samples) {
  std::map<std::pair<int32_t, int32_t>, std::vector<ClassifiedSample>> by_cell;
  for (const ClassifiedSample& sample : samples) {
    by_cell[{sample.label, sample.predicted}].push_back(sample);
  }
  std::vector<std::vector<ClassifiedSample>> cells;
  for (auto& [cell, members] : by_cell) cells.push_back(std::move(members));
  std::ranges::stable_sort(cells, [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return cells;
}

}  // namespace

std::vector<ClassifiedSample> classified_samples(const Tensor& outputs,
                                                 std::span<const int32_t> labels, int64_t first,
                                                 int64_t step) {
  PANDO_CHECK(outputs.shape().rank() == 2 && outputs.shape()[0] == std::ssize(labels));
  const auto classes = static_cast<size_t>(outputs.shape()[1]);
  std::vector<ClassifiedSample> samples;
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::span<const float> row = outputs.f32().subspan(i * classes, classes);
    if (!std::ranges::all_of(row, [](float x) { return std::isfinite(x); })) continue;
    const auto largest = std::ranges::max_element(row);
    samples.push_back({.index = first + static_cast<int64_t>(i) * step,
                       .label = labels[i],
                       .predicted = static_cast<int32_t>(largest - row.begin()),
                       .confidence = confidence_of(row, *largest)});
  }
  return samples;
}

std::vector<ClassifiedSample> chosen_samples(std::vector<ClassifiedSample> samples,
                                             const ClassSampleLimits& limits) {
  std::ranges::sort(samples, is_surer);
  std::vector<ClassifiedSample> chosen;
  std::set<int64_t> taken;
  const auto take = [&](const ClassifiedSample& sample) {
    if (chosen.size() < limits.samples && taken.insert(sample.index).second) {
      chosen.push_back(sample);
    }
  };
  for (const ClassifiedSample& sample : samples) {
    if (chosen.size() == limits.most_confident) break;
    if (sample.label != sample.predicted) take(sample);
  }
  const auto cells = cells_of(samples);
  for (size_t turn = 0; turn < std::max(limits.per_mistake, limits.per_hit); ++turn) {
    for (const auto& cell : cells) {
      const bool is_hit = cell[0].label == cell[0].predicted;
      const size_t most = is_hit ? limits.per_hit : limits.per_mistake;
      if (turn < std::min(most, cell.size())) take(cell[turn]);
    }
  }
  return chosen;
}

}  // namespace pando::app

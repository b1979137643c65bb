// Sums of losses and metrics over samples. The mean is taken where a value is shown.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pando/base/wide_sum.h"

namespace pando::runtime {

// Sums over real samples.
struct Totals {
  int64_t samples = 0;
  WideSum loss;
  std::vector<WideSum> metrics;  // in the order of the program's metric outputs

  void add(const Totals& more) {
    samples += more.samples;
    loss += more.loss;
    metrics.resize(more.metrics.size());
    for (size_t i = 0; i < metrics.size(); ++i) metrics[i] += more.metrics[i];
  }

  // All parts as numbers, for messages and files; of() restores them.
  static size_t count_of_numbers(size_t metrics) { return 3 + 2 * metrics; }
  std::vector<double> numbers() const {
    std::vector<double> all = {static_cast<double>(samples), loss.high(), loss.low()};
    for (const WideSum& metric : metrics) all.insert(all.end(), {metric.high(), metric.low()});
    return all;
  }
  // Requires: as many numbers as numbers() returns.
  static Totals of(std::span<const double> numbers) {
    Totals totals{.samples = static_cast<int64_t>(numbers[0]), .loss = {numbers[1], numbers[2]}};
    for (size_t i = 3; i + 1 < numbers.size(); i += 2) {
      totals.metrics.emplace_back(numbers[i], numbers[i + 1]);
    }
    return totals;
  }
};

}  // namespace pando::runtime

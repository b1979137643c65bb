// Sums of losses and metrics over samples. The mean is taken where a value is shown.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pando::runtime {

// Sums over real samples.
struct Totals {
  int64_t samples = 0;
  double loss = 0;
  std::vector<double> metrics;  // in the order of the program's metric outputs

  void add(const Totals& more) {
    samples += more.samples;
    loss += more.loss;
    metrics.resize(more.metrics.size());
    for (size_t i = 0; i < metrics.size(); ++i) metrics[i] += more.metrics[i];
  }
};

}  // namespace pando::runtime

// SPDX-License-Identifier: MIT
#include "pando/app/record/sparkline.h"

#include <cmath>

namespace pando::app {

void Sparkline::add(double value) {
  if (!std::isfinite(value)) return;
  if (means_.size() == kMostPoints) {
    // Every two points become one.
    for (size_t i = 0; i < kMostPoints / 2; ++i) {
      means_[i] = means_[2 * i] / 2 + means_[2 * i + 1] / 2;
    }
    means_.resize(kMostPoints / 2);
    span_ *= 2;
  }
  open_sum_ += value;
  if (++open_values_ < span_) return;
  means_.push_back(open_sum_ / static_cast<double>(open_values_));
  open_sum_ = 0;
  open_values_ = 0;
}

std::vector<double> Sparkline::points() const {
  std::vector<double> points = means_;
  if (open_values_ > 0) points.push_back(open_sum_ / static_cast<double>(open_values_));
  return points;
}

}  // namespace pando::app

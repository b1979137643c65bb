// A curve in a few numbers, for lists of runs.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pando::app {

// Keeps at most 64 points of a curve of any length: all points are means of the same number of
// values, except for the last one, which may have fewer. Values that are not finite are left out.
class Sparkline {
 public:
  static constexpr size_t kMostPoints = 64;

  void add(double value);
  std::vector<double> points() const;
  bool empty() const { return means_.empty() && open_values_ == 0; }

 private:
  std::vector<double> means_;  // of `span_` values each
  int64_t span_ = 1;
  double open_sum_ = 0;  // of values that are in no mean yet
  int64_t open_values_ = 0;
};

}  // namespace pando::app

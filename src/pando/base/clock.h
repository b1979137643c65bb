// Measuring time.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace pando {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Seconds of the steady clock, for differences.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Calls `work` up to `runs` times and returns the seconds of the fastest call. A call that takes
// `enough` seconds or more is the last.
template <typename Work>
double least_seconds(int runs, double enough, const Work& work) {
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const double seconds = seconds_since(start);
    least = std::min(least, seconds);
    if (seconds >= enough) break;
  }
  return least;
}

}  // namespace pando

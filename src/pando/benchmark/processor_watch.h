// Notices whether other processes disturbed a measurement.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace pando::benchmark {

// If others use more cores than this, a measurement is not reliable.
constexpr double kNoisyCores = 0.1;

// Compares the processor time of the machine with that of this process and its children, from the
// constructor on. Requires: no child runs at the beginning, and none at the end.
class ProcessorWatch {
 public:
  ProcessorWatch();
  // Average number of cores that other processes used, and that the host took from a virtual
  // machine. 0 if the time was too short to measure or the system does not report it.
  double other_cores() const;

 private:
  std::chrono::steady_clock::time_point begin_;
  std::optional<double> busy_;
  double own_ = 0;
};

// Busy seconds of all processors together: the first line of /proc/stat; nothing if it is not one.
std::optional<double> busy_seconds(std::string_view stat_line);

}  // namespace pando::benchmark

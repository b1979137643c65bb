// Finds the values of metrics in the output of a program while it runs.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "pando/benchmark/spec.h"

namespace pando::benchmark {

enum class Stream { out, err };

// What a metric found: its values in the order of the lines, those of standard output first.
struct Found {
  std::vector<double> values;
  std::string no_number;  // the first match that is not a number; empty: all are
  bool too_slow = false;  // the regular expression took too many steps
  bool too_many = false;  // values
};

// Keeps values and the last lines of standard error, never the output itself. One thread.
class OutputScan {
 public:
  // Requires: the metrics outlive this object.
  explicit OutputScan(const std::vector<Metric>& metrics);

  void take(Stream stream, std::string_view bytes);
  void finish();  // the last lines may have no line break

  Found found(size_t metric) const;
  const std::deque<std::string>& last_errors() const { return last_errors_; }
  int64_t lines() const { return lines_; }
  // The largest "compilation time: X s" that a program printed; `pando train` does.
  std::optional<double> compile_seconds() const;

 private:
  void scan(Stream stream, std::string_view line);

  const std::vector<Metric>& metrics_;
  Metric compile_time_;
  std::vector<std::array<Found, 2>> found_;  // per metric and stream
  std::array<std::string, 2> begun_;         // the line that has no line break yet
  std::deque<std::string> last_errors_;
  Found compile_times_;
  int64_t lines_ = 0;
};

}  // namespace pando::benchmark

// Writes the messages of a run of benchmarks: all of them to console.log, and those that the
// options ask for to the terminal.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "pando/app/record/append_file.h"
#include "pando/benchmark/benchmark_options.h"
#include "pando/benchmark/result.h"

namespace pando::benchmark {

class Console {
 public:
  // `err` gets the time that passes if it is the standard error of a terminal.
  Console(std::ostream& out, std::ostream& err, Level level, const std::string& log);

  void say(Level level, const std::string& line);
  void show_progress(double seconds);
  void clear_progress();

 private:
  std::ostream& out_;
  std::ostream& err_;
  Level level_;
  app::AppendFile log_;
  bool is_terminal_;
  bool has_progress_ = false;
};

// "throughput = 5231.25 (5190 to 5240)", without the range if there is one value.
std::string metric_line(const Spread& spread);

// PASSED, FAILED and SKIPPED, a line per variant, and how many there are of each.
std::vector<std::string> summary_lines(const std::vector<VariantResult>& results);

}  // namespace pando::benchmark

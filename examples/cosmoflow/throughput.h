// The speed of training: one row per loop, and the total.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data.h"
#include "run.h"

namespace cosmo {

using Clock = std::chrono::steady_clock;

struct Loop {
  int64_t samples = 0;  // of all replicas
  double seconds = 0;
};

class Throughput {
 public:
  explicit Throughput(int64_t samples_per_step) : samples_per_step_(samples_per_step) {}

  void add(const Loop& loop) { loops_.push_back(loop); }
  bool empty() const { return loops_.empty(); }
  double seconds() const;
  double samples_per_second() const;
  // A batch is what all replicas process in one step.
  std::string table() const;

 private:
  int64_t samples_per_step_;
  std::vector<Loop> loops_;
};

// Prints the table and the summary.
void tell_throughput(const Run& run, const Throughput& throughput);

struct Results {
  Throughput throughput;
  std::optional<pando::Logs> validation;  // loss and metrics, without a prefix
};
// Prints the throughput if there were loops, the validation results if there are any, and with
// --print-fom the line for programs.
void tell_results(const Run& run, const Data& data, const Results& results);

}  // namespace cosmo

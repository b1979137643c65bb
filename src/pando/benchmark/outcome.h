// Turns what a program printed into its metrics, and says why one has no value.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pando/benchmark/output_scan.h"
#include "pando/benchmark/spec.h"
#include "pando/benchmark/variants.h"

namespace pando::benchmark {

struct Outcome {
  std::string name;
  std::string reduction;
  bool lower_is_better = false;
  std::optional<double> value;
  std::string failure;  // why there is no value, if the metric is required
};

// In the order of the file: data, then derived, then total_compiling_time. `throughput` counts for
// each of `processes`.
std::vector<Outcome> outcomes_of(const Metrics& metrics, const OutputScan& scan,
                                 const Variant& variant, int processes);

// The same metrics without values, for a program that failed.
std::vector<Outcome> missing_outcomes(const Metrics& metrics);

}  // namespace pando::benchmark

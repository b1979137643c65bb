// Results without a run, for tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/benchmark/result.h"

namespace pando::benchmark {

// A variant whose repetitions have these values of `metric`.
inline VariantResult result_of(const Benchmark& benchmark, const std::string& metric,
                               const std::vector<double>& values) {
  VariantResult result{.benchmark = &benchmark};
  result.variant.name = benchmark.name;
  result.command = "run " + benchmark.name;
  result.folder = "/log/" + benchmark.name;
  for (const double value : values) {
    Repetition one{.start_time = "2026-01-02 03:04:05.000006",
                   .end_time = "2026-01-02 03:04:06.5",
                   .seconds = value};
    one.outcomes.push_back({metric, "mean", is_lower_better(metric), value, ""});
    result.repetitions.push_back(std::move(one));
  }
  return result;
}

inline VariantResult failed_result(const Benchmark& benchmark, const std::string& metric,
                                   const std::string& failure) {
  VariantResult result = result_of(benchmark, metric, {1});
  Repetition& one = result.repetitions[0];
  one.code = 3;
  one.failure = failure;
  one.outcomes[0].value.reset();
  one.last_errors = {"line <1>", "line \xff 2"};
  return result;
}

}  // namespace pando::benchmark

// The results of variants: what each repetition measured, and what they say together.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pando/base/json.h"
#include "pando/benchmark/outcome.h"
#include "pando/benchmark/spec.h"
#include "pando/benchmark/variants.h"

namespace pando::benchmark {

struct Repetition {
  std::string start_time;  // "2026-11-18 06:05:54.123456"
  std::string end_time;
  double seconds = 0;
  int code = 0;                          // 0: the program and all metrics are fine
  std::string failure;                   // empty: passed
  std::vector<std::string> last_errors;  // lines of standard error, of a failure
  std::vector<std::string> notes;
  std::vector<Outcome> outcomes;
  double other_cores = 0;
};

// A metric over the repetitions that have a value.
struct Spread {
  std::string name;
  std::string reduction;
  bool lower_is_better = false;
  std::vector<double> values;  // empty: no repetition has one

  double middle() const;  // the median; requires a value
  double low() const;
  double high() const;
};

struct VariantResult {
  const Benchmark* benchmark = nullptr;
  Variant variant;
  std::string command;
  std::string folder;  // of its logs
  std::string git_commit;
  std::string skipped;  // why it did not run; empty: it did
  std::vector<Repetition> repetitions;

  bool has_failed() const;
  std::string failure() const;  // that of the first repetition that failed; empty: passed
  int code() const;
  double seconds() const;                  // the median
  std::vector<Spread> spreads() const;     // in the order of the first repetition
  std::vector<std::string> notes() const;  // each once
};

// The machine and the program, which a comparison looks at.
Json machine_json();

// What variant_result.json and benchmark_results.json contain, with sorted keys.
Json to_json(const VariantResult& result);

// Local time, with microseconds.
std::string time_text();

}  // namespace pando::benchmark

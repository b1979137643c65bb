// Compares results with those of an earlier run, metric by metric.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pando/benchmark/result.h"

namespace pando::benchmark {

// A value with the range of its repetitions.
struct Measured {
  double value = 0;
  double low = 0;
  double high = 0;
};

// A benchmark_results.json, of this program or of the original.
struct OldResults {
  std::map<std::pair<std::string, std::string>, Measured> metrics;  // by variant and metric
  std::map<std::string, bool> passed;                               // by variant
  std::vector<std::string> machines;                                // each once; may be empty
};

// Throws UsageError for a file that cannot be read or is of another kind.
OldResults load_old_results(const std::string& path);

enum class Verdict {
  same,  // the change is within the limit
  better,
  worse,    // a regression
  unclear,  // beyond the limit, but the ranges of the repetitions overlap
  added,    // the old results do not have it
  missing   // only the old results have it: the variant failed, or does not print it any more
};

const char* to_string(Verdict verdict);

struct Row {
  std::string variant;
  std::string metric;
  bool lower_is_better = false;
  std::optional<Measured> before;
  std::optional<Measured> now;
  Verdict verdict = Verdict::same;

  std::optional<double> change() const;  // in percent of the old value
};

struct Comparison {
  std::vector<Row> rows;           // of the variants that ran, in their order
  std::vector<std::string> notes;  // other machines, variants that did not run

  // Rows with a worse value, and rows with a missing value.
  size_t regressions() const;
};

// `limit`: a change by this many percent, or less, does not count.
Comparison compare(const std::vector<VariantResult>& results, const OldResults& before,
                   double limit);

std::string to_text(const Comparison& comparison, double limit);
Json to_json(const Comparison& comparison, double limit);

}  // namespace pando::benchmark

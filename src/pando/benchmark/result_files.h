// Results as JSON, CSV and JUnit XML.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/benchmark/result.h"

namespace pando::benchmark {

struct CsvColumns {
  bool additional = false;           // duration, loss, result, command, environment, commit
  std::vector<std::string> metrics;  // further ones
};

// Results that were skipped appear in the XML only.
std::string results_json(const std::vector<VariantResult>& results);
std::string results_csv(const std::vector<VariantResult>& results, const CsvColumns& columns);
std::string results_xml(const std::vector<VariantResult>& results);

}  // namespace pando::benchmark

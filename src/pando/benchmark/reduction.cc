// SPDX-License-Identifier: MIT
#include "pando/benchmark/reduction.h"

#include <algorithm>
#include <numeric>

#include "pando/options/usage_error.h"

namespace pando::benchmark {
namespace {

constexpr Reduction kReductions[] = {
    {"mean",
     [](const std::vector<double>& values) {
       return std::accumulate(values.begin(), values.end(), 0.0) /
              static_cast<double>(values.size());
     }},
    {"final", [](const std::vector<double>& values) { return values.back(); }},
    {"value", [](const std::vector<double>& values) { return values.front(); }},
    {"min",
     [](const std::vector<double>& values) {
       return *std::min_element(values.begin(), values.end());
     }},
    {"max",
     [](const std::vector<double>& values) {
       return *std::max_element(values.begin(), values.end());
     }},
    {"median", [](const std::vector<double>& values) { return median(values); }},
};

}  // namespace

const Reduction& reduction(const std::string& name, const std::string& place) {
  std::vector<std::string> known;
  for (const Reduction& one : kReductions) {
    if (name == one.name) return one;
    known.emplace_back(one.name);
  }
  throw UsageError(place, ": ", unknown_name_message("reduction_type", name, known));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace pando::benchmark

// Reads the earlier results of comparison.h.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "pando/base/paths.h"
#include "pando/benchmark/comparison.h"
#include "pando/options/usage_error.h"

namespace pando::benchmark {
namespace {

constexpr size_t kLargestOldFile = size_t{64} << 20;

std::string read_old_file(const std::string& path) {
  if (is_folder(path)) {
    throw UsageError("--compare: expected a benchmark_results.json, got the folder '", path, "'");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError("--compare: cannot open '", path, "': ", std::strerror(errno));
  std::string text(kLargestOldFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kLargestOldFile) throw UsageError("--compare: '", path, "' is above 64 MiB");
  return text;
}

// {"mean": 12.5}: the name of the reduction does not matter. Null if the benchmark had failed.
std::optional<double> old_value_of(const Json& reductions) {
  for (const Json::Member& one : reductions.members()) {
    if (!one.value.is_null()) return one.value.get<double>();
  }
  return std::nullopt;
}

void take_variant(const Json& variant, OldResults& results) {
  const auto name = variant.get<std::string>("variant_name");
  results.passed[name] = variant.get<int64_t>("exitcode") == 0;
  const Json* spread = variant.find("ranges");
  for (const Json::Member& metric : variant.at("results").members()) {
    const auto value = old_value_of(metric.value);
    if (!value) continue;
    Measured measured{*value, *value, *value};
    if (const Json* range = spread == nullptr ? nullptr : spread->find(metric.key)) {
      measured.low = range->get<double>("low");
      measured.high = range->get<double>("high");
    }
    results.metrics[{name, metric.key}] = measured;
  }
  if (const Json* machine = variant.find("machine")) {
    std::string text = machine->dump();
    std::vector<std::string>& all = results.machines;
    if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(std::move(text));
  }
}

}  // namespace

OldResults load_old_results(const std::string& path) {
  const std::string text = read_old_file(path);
  OldResults results;
  try {
    const Json file = Json::parse_strictly(text);
    for (const Json::Member& benchmark : file.members()) {
      for (const Json& variant : benchmark.value.items()) take_variant(variant, results);
    }
  } catch (const Error& error) {
    throw UsageError("--compare: '", path, "': expected a benchmark_results.json: ", error.what());
  }
  if (results.passed.empty()) throw UsageError("--compare: '", path, "' has no results");
  return results;
}

}  // namespace pando::benchmark

// Reads values of a file of benchmarks; errors name the place.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/benchmark/spec.h"
#include "pando/options/config_value.h"

namespace pando::benchmark {

// Throws UsageError for a key that is not among the known ones.
void check_keys(const ConfigValue& map, const std::vector<std::string>& known);
void expect_map(const ConfigValue& value, const std::string& what);
std::string read_text(const ConfigValue& value, const std::string& what);
bool read_truth(const ConfigValue& value, const std::string& what);
// The value of a key, or null if there is none or it has no value.
const ConfigValue* find_set(const ConfigValue& map, const std::string& key);

Parameters read_parameters(const ConfigValue& value);
// The keys `data` and `derived` of an entry.
Metrics read_metrics(const ConfigValue& entry);

}  // namespace pando::benchmark

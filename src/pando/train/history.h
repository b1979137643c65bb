// What a fit reports: one row of metrics per epoch.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pando/base/error.h"
#include "pando/base/named_values.h"
#include "pando/base/wide_sum.h"

namespace pando {

// Names and values in the order in which they are shown: loss first, then the metrics, then the
// same of the validation with "val_" in front.
using Logs = std::vector<std::pair<std::string, double>>;

// The value of that name, or nothing.
inline std::optional<double> find_value(const Logs& logs, std::string_view name) {
  const double* const found = find_named(logs, name);
  return found == nullptr ? std::nullopt : std::optional<double>(*found);
}

// Sums over samples under the names of Logs, the loss first. The mean is taken where it is shown.
struct LogSums {
  // A metric as the sums of its numbers, and the value that follows from these and the samples.
  struct Metric {
    std::vector<WideSum> sums;
    std::function<double(const std::vector<WideSum>& sums, double samples)> value;
  };
  int64_t samples = 0;
  std::vector<std::pair<std::string, WideSum>> sums;
  std::vector<std::pair<std::string, Metric>> no_means;  // metrics whose value is not a mean

  // A metric by its name, a mean or not.
  Metric metric(std::string_view name) const {
    if (const Metric* const found = find_named(no_means, name)) return *found;
    return {{sum(name)},
            [](const std::vector<WideSum>& all, double count) { return all[0] / count; }};
  }

  // 0 for a name that is not there.
  WideSum sum(std::string_view name) const {
    const WideSum* const found = find_named(sums, name);
    return found == nullptr ? WideSum(0) : *found;
  }
};

struct History {
  std::vector<int64_t> epoch;  // numbers from 0, as Keras counts
  std::map<std::string, std::vector<double>> values;

  // Throws InvalidArgument with the known names.
  const std::vector<double>& operator[](const std::string& name) const {
    if (const auto found = values.find(name); found != values.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& entry : values) known.push_back(entry.first);
    throw InvalidArgument(unknown_name_message("metric", name, known));
  }
  void add(int64_t number, const Logs& logs) {
    epoch.push_back(number);
    for (const auto& [name, value] : logs) values[name].push_back(value);
  }
};

}  // namespace pando

// What a fit reports: one row of metrics per epoch.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pando {

// Names and values in the order in which they are shown: loss first, then the metrics, then the
// same of the validation with "val_" in front.
using Logs = std::vector<std::pair<std::string, double>>;

struct History {
  std::vector<int64_t> epoch;  // numbers from 0, as Keras counts
  std::map<std::string, std::vector<double>> values;

  const std::vector<double>& operator[](const std::string& name) const { return values.at(name); }
  void add(int64_t number, const Logs& logs) {
    epoch.push_back(number);
    for (const auto& [name, value] : logs) values[name].push_back(value);
  }
};

}  // namespace pando

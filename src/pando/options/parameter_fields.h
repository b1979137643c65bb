// The fields behind a dictionary whose keys are the parameters of records, so that a new record
// needs no new field.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "pando/base/parameter_range.h"
#include "pando/options/options.h"

namespace pando {

class ParameterFields {
 public:
  // Adds the key to the table of a dictionary, with the range as its type and bounds. The table
  // refers to this object.
  void add_key(OptionTable& dictionary, const std::string& name, ParameterRange range);

  // The value of a key, switches as 0 or 1; no value if the key is not given.
  std::optional<double> get(const std::string& name) const;
  void set(const std::string& name, ParameterRange range, double value);

 private:
  std::map<std::string, std::optional<double>> numbers_;
  std::map<std::string, std::optional<int64_t>> counts_;
  std::map<std::string, std::optional<bool>> switches_;
};

}  // namespace pando

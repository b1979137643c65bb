// The keys that a dictionary may and must have where that depends on the value of another flag.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/options/options.h"

namespace pando {

struct WantedKeys {
  std::string owner;  // what they belong to: "lars"
  std::vector<std::string> required;
  std::vector<std::string> optional;
};

// A key that means nothing to its owner would be lost silently. Throws UsageError that tells the
// keys that were found and those that are wanted.
void check_keys(const OptionTable& table, const std::string& dictionary, const WantedKeys& wanted);

}  // namespace pando

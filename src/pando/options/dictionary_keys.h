// Checks the keys of a dictionary whose allowed and required keys depend on another flag.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/options/options.h"

namespace pando {

struct WantedKeys {
  std::string owner;  // what the keys belong to: "lars"
  std::vector<std::string> required;
  std::vector<std::string> optional;
};

// Throws UsageError if the dictionary has a key that its owner does not use (it would be ignored
// silently) or lacks a required one; the message lists the keys found and the keys expected.
void check_keys(const OptionTable& table, const std::string& dictionary, const WantedKeys& wanted);

}  // namespace pando

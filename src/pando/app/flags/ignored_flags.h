// The flags of `pando train` that have no effect here: accepted and checked, so that command lines
// and configurations made for other hardware work as they are. ignored_flags.cc has their table.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pando/options/options.h"

namespace pando::app {

// The given values. Only --print-config reads them.
struct IgnoredFlags {
  std::map<std::string, bool> switches;
  std::map<std::string, int64_t> sizes;
  std::map<std::string, std::optional<std::string>> words;
};

void add_ignored_flags(OptionTable& table, IgnoredFlags& flags);

// "--flag is ignored: reason" for every one that was given on the command line, or that a file set
// to something else than its default. The table is the one the flags are bound to.
std::vector<std::string> ignored_warnings(const OptionTable& table);

}  // namespace pando::app

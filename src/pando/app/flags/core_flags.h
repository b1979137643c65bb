// The flags that choose the cores of a device; shared by all commands that divide the machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/options/options.h"

namespace pando::app {

struct CoreFlags {
  int cores_per_device = 0;  // 0: an even division
  std::string core_sets;     // as in '0-3;4-7,9'; empty: not given
};

void add_core_flags(OptionTable& table, CoreFlags& flags);

// The hardware threads of each device; empty if --core-sets is not given. Throws UsageError if the
// sets cannot be parsed or --cores-per-device is given too.
std::vector<std::vector<int>> core_sets_of(const CoreFlags& flags);

}  // namespace pando::app

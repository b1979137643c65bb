// The keys of the YAML file and the flags, as tables of options.
// SPDX-License-Identifier: MIT
#pragma once

#include "config.h"
#include "pando/options/command_line.h"

namespace cosmo {

// Both bind the fields of one Config, which must stay at the same address.
void add_keys(pando::OptionTable& table, Config& config);
void add_flags(pando::OptionTable& table, Config& config, pando::CommonOptions& common);

}  // namespace cosmo

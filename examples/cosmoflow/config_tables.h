// The keys of the YAML file and the flags, as tables of options.
// SPDX-License-Identifier: MIT
#pragma once

#include "config.h"
#include "pando/app/command_line.h"

namespace cosmo {

// Both bind the fields of one Config, which must stay at the same address.
void add_keys(pando::app::OptionTable& table, Config& config);
void add_flags(pando::app::OptionTable& table, Config& config, pando::app::CommonOptions& common);

}  // namespace cosmo

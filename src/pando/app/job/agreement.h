// Checks that all instances of a job have the same program, options and data.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pando/app/job/instances.h"

namespace pando::app {

// Names and values that must be the same, in the same order, on all instances.
using Facts = std::vector<std::pair<std::string, std::string>>;

// The options of a configuration as facts, except those that may differ between machines.
Facts option_facts(const std::string& config_text);

// Describes the running program: size and checksum of its file.
std::string program_fact();

// Throws an AgreedFailure on all instances if the facts of one differ from those of the first. The
// message names both instances and the first fact that differs.
void check_agreement(const Instances& instances, const Facts& own);

}  // namespace pando::app

// Whether the instances of a job are about to do the same: the same program, options and data.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pando/app/job/instances.h"

namespace pando::app {

// What must be the same everywhere, by name, in the same order.
using Facts = std::vector<std::pair<std::string, std::string>>;

// The options of a configuration as facts, without those that may differ between machines.
Facts option_facts(const std::string& config_text);

// The program that runs: size and checksum of its file.
std::string program_fact();

// Throws an AgreedFailure on all instances when one has other facts than the first: it names both
// and the first fact that differs.
void check_agreement(const Instances& instances, const Facts& own);

}  // namespace pando::app

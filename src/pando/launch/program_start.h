// Finds where the options of a command line end and the program to start begins.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pando/options/options.h"

namespace pando::launch {

struct ProgramStart {
  std::vector<std::string> options;  // each as one word: --name=value
  std::vector<std::string> program;  // the program and its arguments
  std::string flag_before_program;   // boolean --name without a value, right before it
};

// The program starts at the first word that is neither option nor value, or after --; all words
// that follow belong to it. Knows -H, -v, -h besides the names of the table. Throws UsageError.
ProgramStart find_program(OptionTable& table, std::span<const std::string> args);

}  // namespace pando::launch

// The subcommands of the program and the verbs of `pando data`, for what tells about all of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <span>
#include <string>

namespace pando::cli {

struct Subcommand {
  const char* name;
  const char* summary;  // null: for the program itself, not for users
  int (*run)(std::span<const std::string> args, std::ostream& out);
  const char* words = "";  // what follows the name, for help texts
};

std::span<const Subcommand> subcommands();
std::span<const Subcommand> data_verbs();

// The answer to --help.
std::string help_of(const Subcommand& command);

}  // namespace pando::cli

// The subcommands of the program and the verbs of `pando data`, for help, man pages and completion.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <span>
#include <string>

namespace pando::cli {

struct Subcommand {
  const char* name;
  const char* summary;  // null: only for internal use, not shown to users
  int (*run)(std::span<const std::string> args, std::ostream& out);
  const char* words = "";  // the arguments in help texts
};

std::span<const Subcommand> subcommands();
std::span<const Subcommand> data_verbs();

// The text of --help.
std::string help_of(const Subcommand& command);

}  // namespace pando::cli

// Reads a command line, and the configuration file it names, into a table of options.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pando/options/options.h"

namespace pando {

// What every subcommand with a configuration understands.
struct CommonOptions {
  bool help = false;
  bool print_config = false;
  std::string config;       // the name of a preset
  std::string config_path;  // the file of presets, or, without a name, one configuration; empty:
                            // those that ship with the program
  std::string set;          // the last one, as it was written
};

// Adds --help alone, or --help with --config, --config-path, --set and --print-config.
void add_help_option(OptionTable& table, CommonOptions& common);
void add_common_options(OptionTable& table, CommonOptions& common);

// Defaults, then the file, then the command line, whatever their order there:
//   --name value   --name=value   --flag   --flag false   --no-flag   --list a b c   --list=a,b
//   --dictionary '{key: value}'   --set name=value   --set dictionary.key=value
// Names may be shortened while they stay unambiguous. With --help nothing else is checked.
// Throws UsageError.
void parse_command_line(OptionTable& table, CommonOptions& common,
                        std::span<const std::string> args);

}  // namespace pando

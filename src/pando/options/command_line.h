// Reads a command line, and the configuration file it names, into a table of options.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pando/options/options.h"

namespace pando {

// The options of every subcommand that has a configuration.
struct CommonOptions {
  bool help = false;
  bool print_config = false;
  std::string config;       // the name of a preset
  std::string config_path;  // a file of presets, or, if `config` is empty, of one configuration;
                            // empty: the presets that ship with the program
  std::string set;          // the last --set, as it was written
};

// The first adds only --help; the second also --config, --config-path, --set and --print-config.
void add_help_option(OptionTable& table, CommonOptions& common);
void add_common_options(OptionTable& table, CommonOptions& common);

// Applies the configuration file over the defaults, then the command line over both, wherever
// --config appears among the arguments:
//   --name value   --name=value   --flag   --flag false   --no-flag   --list a b c   --list=a,b
//   --dictionary '{key: value}'   --set name=value   --set dictionary.key=value   -o value
//   (--output)
// Names may be shortened as long as they are unambiguous. With --help nothing else is checked.
// Throws UsageError.
void parse_command_line(OptionTable& table, CommonOptions& common,
                        std::span<const std::string> args);

}  // namespace pando

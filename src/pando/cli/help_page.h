// Parses the --help text of a command. Man pages and shell completion are generated from it, so
// neither needs a separate list of flags.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pando::cli {

struct HelpFlag {
  std::string name;  // "--model", or the name of a positional argument
  std::string hint;  // the placeholder of its value: "NAME", "a|b|c", "[BOOL]"; empty: none
  std::string help;

  // The possible values; empty if any value is allowed.
  std::vector<std::string> choices() const;
};

struct HelpGroup {
  std::string title;  // "Model"
  std::vector<HelpFlag> flags;
};

struct HelpPage {
  std::string usage;               // "pando train [flags]"
  std::vector<std::string> intro;  // the lines before the first group
  std::vector<HelpGroup> groups;

  const HelpFlag* find(std::string_view flag) const;
};

HelpPage read_help(std::string_view text);

}  // namespace pando::cli

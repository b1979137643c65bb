// A command's --help text, taken apart: man pages and shell completion are made of it, so neither
// needs a list of flags of its own.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pando::cli {

struct HelpFlag {
  std::string name;  // "--model", or the name of a word without a flag
  std::string hint;  // what stands for its value: "NAME", "a|b|c", "[BOOL]"; empty: none
  std::string help;

  // Words that the value can be; none when it is free.
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

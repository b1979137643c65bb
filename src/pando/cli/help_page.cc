// SPDX-License-Identifier: MIT
#include "pando/cli/help_page.h"

#include "pando/base/strings.h"

namespace pando::cli {
namespace {

// Whether the line is a title: "Model:", not indented, followed by the first flag of the group.
bool is_title(const std::string& line, const std::string& next) {
  return line.size() > 1 && line.back() == ':' && line[0] != ' ' && next.starts_with("  --");
}

bool is_flag_line(const std::string& line) {
  return line.size() > 2 && line.starts_with("  ") && line[2] != ' ';
}

void append_help(HelpFlag& flag, std::string_view text) {
  text = trim(text);
  if (text.empty()) return;
  if (!flag.help.empty()) flag.help += ' ';
  flag.help += text;
}

// Reads "  --model NAME      the model": at least two spaces come before the help.
HelpFlag read_flag(const std::string& line) {
  const std::string_view rest = trim(line);
  const size_t gap = rest.find("  ");
  const std::string_view head = trim(rest.substr(0, gap));
  const size_t blank = head.find(' ');
  HelpFlag flag{.name = std::string(head.substr(0, blank))};
  if (blank != std::string_view::npos) flag.hint = trim(head.substr(blank));
  if (gap != std::string_view::npos) append_help(flag, rest.substr(gap));
  return flag;
}

}  // namespace

std::vector<std::string> HelpFlag::choices() const {
  if (hint == "[BOOL]") return {"true", "false"};
  if (hint.find('|') == std::string::npos) return {};
  std::string words = hint;
  std::erase_if(words, [](char c) { return c == '[' || c == ']'; });
  return split(words, '|');
}

const HelpFlag* HelpPage::find(std::string_view flag) const {
  for (const HelpGroup& group : groups) {
    for (const HelpFlag& one : group.flags) {
      if (one.name == flag) return &one;
    }
  }
  return nullptr;
}

HelpPage read_help(std::string_view text) {
  constexpr std::string_view kUsage = "usage: ";
  HelpPage page;
  std::vector<std::string> lines = split(text, '\n');
  lines.emplace_back();
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (page.usage.empty() && line.starts_with(kUsage)) {
      page.usage = line.substr(kUsage.size());
    } else if (is_title(line, lines[i + 1])) {
      page.groups.push_back({.title = line.substr(0, line.size() - 1)});
    } else if (page.groups.empty()) {
      page.intro.push_back(line);
    } else if (std::vector<HelpFlag>& flags = page.groups.back().flags; is_flag_line(line)) {
      flags.push_back(read_flag(line));
    } else if (!flags.empty()) {
      append_help(flags.back(), line);
    }
  }
  return page;
}

}  // namespace pando::cli

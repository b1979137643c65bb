// Writes the table of options as Markdown, for the reference page of a command.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/options/options.h"
#include "pando/options/wrap_impl.h"

namespace pando {
namespace {

constexpr size_t kMarkdownColumns = 120;

std::string code(const std::string& text) { return "`" + text + "`"; }

std::string codes(const std::vector<std::string>& texts, const std::string& before = "") {
  std::vector<std::string> parts;
  for (const std::string& text : texts) parts.push_back(code(before + text));
  return join(parts, ", ");
}

// States the default, also if there is none.
std::string default_line(const Option& option) {
  const ConfigValue value = default_of(option);
  const bool nothing = value.kind == ConfigValue::Kind::null ||
                       (value.kind == ConfigValue::Kind::scalar && value.text.empty()) ||
                       (value.kind != ConfigValue::Kind::scalar && value.items.empty());
  return nothing ? "not set by default" : "default " + code(to_yaml(value));
}

std::string value_of(const Option& option) {
  if (option.entries) return "a dictionary";
  return option.choices.empty() ? wanted_text(option) : "one of " + codes(option.choices);
}

std::string facts(const Option& option) {
  std::vector<std::string> parts = {value_of(option)};
  parts.push_back(default_line(option));
  if (!option.aliases.empty()) parts.push_back("also " + codes(option.aliases, "--"));
  if (!option.in_config) parts.emplace_back("only on the command line");
  return join(parts, "; ");
}

// An item of a list, indented by `indent` after its first line. Code is not broken.
std::string item(std::string text, size_t indent) {
  constexpr char kUnbroken = '\1';
  bool in_code = false;
  for (char& letter : text) {
    if (letter == '`') in_code = !in_code;
    if (in_code && letter == ' ') letter = kUnbroken;
  }
  std::string out = wrap(text, {.columns = kMarkdownColumns, .indent = indent});
  std::ranges::replace(out, kUnbroken, ' ');
  return out + "\n";
}

std::string entry_of(const Option& option) {
  const bool short_hint = option.choices.empty() || !option.hint.empty() || option.is_bool;
  std::string head = "- " + code("--" + option.name + (short_hint ? value_hint(option) : " VALUE"));
  if (!option.help.empty()) head += ": " + option.help;
  std::string out = item(head + ".", 2);
  out += item("  Value: " + facts(option) + (option.entries ? "; keys:" : "."), 2);
  if (!option.entries) return out;
  for (const Option& entry : option.entries->options()) {
    out += item("  - " + code(entry.name) + ": " + value_of(entry), 4);
  }
  return out;
}

}  // namespace

std::string markdown_text(const OptionTable& table) {
  std::string out;
  std::string group;
  for (const Option& option : table.options()) {
    if (option.group != group) {
      out += concat(out.empty() ? "" : "\n", "### ", option.group, "\n\n");
    }
    group = option.group;
    out += entry_of(option);
  }
  return out;
}

}  // namespace pando

// Writes the table of options as text: --help and the effective configuration.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/core.h>

#include "pando/options/options.h"
#include "pando/options/wrap_impl.h"

namespace pando {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kHelpColumn = 34;

std::string notes(const Option& option) {
  std::vector<std::string> parts;
  const ConfigValue built_in = default_of(option);
  const bool is_unset = built_in.kind == ConfigValue::Kind::null ||
                        (built_in.kind == ConfigValue::Kind::scalar && built_in.text.empty());
  const bool is_empty = built_in.kind != ConfigValue::Kind::scalar && built_in.items.empty();
  const bool is_off = option.is_bool && built_in.text == "false";
  if (!is_unset && !is_empty && !is_off) parts.push_back("default " + to_yaml(built_in));
  if (option.entries) {
    std::vector<std::string> keys;
    for (const Option& entry : option.entries->options()) keys.push_back(entry.name);
    parts.push_back("keys " + join(keys, " "));
  }
  for (const std::string& alias : option.aliases) parts.push_back("alias --" + alias);
  return parts.empty() ? "" : " (" + join(parts, "; ") + ")";
}

std::string setting_line(const std::string& name, const ConfigValue& value,
                         const std::string& origin) {
  return fmt::format("{:<40} # {}\n", fmt::format("{}: {}", name, to_yaml(value)), origin);
}

// A help text in its column of the page.
std::string wrap_help(const std::string& words) {
  return wrap(words, {.columns = kColumns, .indent = kHelpColumn, .column = kHelpColumn});
}

}  // namespace

std::string wrap(const std::string& words, const Lines& lines) {
  std::string out;
  size_t column = lines.column;
  bool begins = true;
  for (const std::string& word : split(words, ' ')) {
    if (!begins && column + 1 + word.size() > lines.columns) {
      out += "\n" + std::string(lines.indent, ' ');
      column = lines.indent;
    } else if (!begins) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    begins = false;
  }
  return out;
}

std::string value_hint(const Option& option) {
  std::string hint = option.hint;
  if (hint.empty() && !option.choices.empty()) hint = join(option.choices, "|");
  if (hint.empty()) hint = option.is_bool ? "BOOL" : "VALUE";
  if (option.is_list) hint += "...";
  if (!option.is_bool) return " " + hint;
  return option.in_config ? " [" + hint + "]" : "";
}

std::string help_text(const OptionTable& table) {
  std::string out;
  for (const Positional& positional : table.positionals()) {
    out += fmt::format("  {:<{}}", positional.name, kHelpColumn - 2) + wrap_help(positional.help) +
           "\n";
  }
  std::string group;
  for (const Option& option : table.options()) {
    if (option.hidden) continue;
    if (option.group != group) out += fmt::format("{}{}:\n", out.empty() ? "" : "\n", option.group);
    group = option.group;
    std::string line = fmt::format("  --{}{}", option.name, value_hint(option));
    if (line.size() + 2 > kHelpColumn) {
      out += line + "\n";
      line.clear();
    }
    line.resize(kHelpColumn, ' ');
    out += line + wrap_help(option.help + notes(option)) + "\n";
  }
  return out;
}

std::string config_text(const OptionTable& table, ConfigUse use) {
  std::string out;
  std::string group;
  for (const Option& option : table.options()) {
    if (!option.in_config) continue;
    if (option.group != group)
      out += fmt::format("{}# {}\n", out.empty() ? "" : "\n", option.group);
    group = option.group;
    if (option.origin.follows) out += "# ";
    const bool is_reset = use == ConfigUse::repeat && option.of_one_run;
    out += setting_line(option.name, is_reset ? default_of(option) : option.show(),
                        to_string(is_reset ? Origin{} : option.origin));
  }
  return out;
}

std::string with_setting(const std::string& config, const std::string& name,
                         const ConfigValue& value, const std::string& origin) {
  const std::string line = setting_line(name, value, origin);
  const std::string key = name + ":";
  std::string out;
  bool found = false;
  for (size_t begin = 0; begin < config.size();) {
    const size_t end = std::min(config.find('\n', begin), config.size() - 1) + 1;
    const bool is_it = config.compare(begin, key.size(), key) == 0;
    out += is_it ? line : config.substr(begin, end - begin);
    found = found || is_it;
    begin = end;
  }
  return found ? out : out + line;
}

}  // namespace pando

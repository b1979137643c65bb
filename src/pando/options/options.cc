// SPDX-License-Identifier: MIT
#include "pando/options/options.h"

#include <algorithm>

#include "pando/options/foreign_names.h"
#include "pando/options/usage_error.h"

namespace pando {
namespace {

using Kind = ConfigValue::Kind;

// "--seed" on the command line, "run.yml:3:1: seed" in a file.
std::string label_of(const Option& option, const Origin& origin) {
  if (origin.kind == Origin::Kind::file) return origin.place + ": " + option.name;
  return origin.place.empty() ? "--" + option.name : origin.place;
}

std::string number_text(double value) { return OptionType<double>::show(value).text; }

[[noreturn]] void refuse(const Option& option, const ConfigValue& value, const Origin& origin) {
  const std::string label = label_of(option, origin);
  if (!option.choices.empty() && value.kind == Kind::scalar) {
    throw UsageError(label, ": ", unknown_name_message("value", value.text, option.choices));
  }
  const std::string found = value.kind == Kind::null     ? "nothing"
                            : value.kind == Kind::scalar ? concat("'", value.text, "'")
                                                         : to_yaml(value);
  throw UsageError(label, ": expected ", wanted_text(option), ", got ", found);
}

// The list of all names is long, so messages give only the nearest one and refer to --help.
std::string suggestion(std::string_view name, const std::vector<std::string>& known,
                       const std::string& dashes) {
  const std::optional<std::string> nearest = nearest_name(name, known);
  if (!nearest) return known.empty() ? "" : "; --help lists the known names";
  return concat("; did you mean '", dashes, *nearest, "'?");
}

// Adds an example to the YAML error, because it helps more than the error itself.
ConfigValue parse_dictionary(const Option& option, const ConfigValue& value,
                             const std::string& label) {
  try {
    return parse_yaml(value.text, label);
  } catch (const UsageError& error) {
    const std::deque<Option>& entries = option.entries->options();
    throw UsageError(error.what(), "; expected a dictionary such as '{",
                     entries.empty() ? "key" : entries.front().name, ": value}'");
  }
}

bool is_in_range(const Option& option, const ConfigValue& value) {
  if (!option.low && !option.high) return true;
  if (value.kind == Kind::list) {
    return std::all_of(value.items.begin(), value.items.end(),
                       [&](const ConfigValue& item) { return is_in_range(option, item); });
  }
  const auto number = parse_real(value.text);
  if (!number) return true;  // null, or not a number: the type decides
  if (option.low && (*number < *option.low || (option.low_excluded && *number == *option.low))) {
    return false;
  }
  if (option.high_excluded && *number == *option.high) return false;
  return !option.high || *number <= *option.high;
}

}  // namespace

std::string wanted_text(const Option& option) {
  std::string text = option.wanted;
  if (option.is_list) text = "a list, each item " + text;
  if (option.low && option.low_excluded) text += ", above " + number_text(*option.low);
  if (option.low && !option.low_excluded) text += ", at least " + number_text(*option.low);
  if (option.high && option.high_excluded) text += ", below " + number_text(*option.high);
  if (option.high && !option.high_excluded) text += ", at most " + number_text(*option.high);
  if (!option.high && !option.type_limit.empty()) text += ", below " + option.type_limit;
  return text;
}

std::string to_string(const Origin& origin) {
  switch (origin.kind) {
    case Origin::Kind::built_in: return origin.place.empty() ? "default" : origin.place;
    case Origin::Kind::command_line: return "command line";
    case Origin::Kind::file: break;
  }
  return origin.preset.empty() ? origin.place
                               : concat("preset ", origin.preset, ", ", origin.place);
}

ConfigValue default_of(const Option& option) {
  if (!option.entries) return option.built_in;
  ConfigValue map;
  map.kind = Kind::map;
  for (const Option& entry : option.entries->options()) {
    if (entry.built_in.kind != Kind::null) map.insert(entry.name, entry.built_in);
  }
  return map;
}

bool is_changed(const Option& option) {
  return to_yaml(option.show()) != to_yaml(default_of(option));
}

Option& Option::with_alias(std::string other) {
  aliases.push_back(std::move(other));
  return *this;
}

Option& Option::with_hint(std::string text) {
  hint = std::move(text);
  return *this;
}

Option& Option::at_least(double bound) {
  low = bound;
  low_excluded = false;
  return *this;
}

Option& Option::above(double bound) {
  low = bound;
  low_excluded = true;
  return *this;
}

Option& Option::at_most(double bound) {
  high = bound;
  high_excluded = false;
  return *this;
}

Option& Option::below(double bound) {
  high = bound;
  high_excluded = true;
  return *this;
}

Option& Option::may_stand_alone() {
  is_bool = true;
  return *this;
}

Option& Option::may_be_empty() {
  takes_empty = true;
  return *this;
}

Option& Option::only_for_this_run() {
  of_one_run = true;
  return *this;
}

Option& Option::only_for_training() {
  of_training = true;
  return *this;
}

Option& Option::has(Effect kind) {
  effect = kind;
  return *this;
}

Option& Option::counts_as(std::string property) {
  counted_as = std::move(property);
  return *this;
}

Option& Option::command_line_only() {
  in_config = false;
  return *this;
}

OptionTable& OptionTable::add_dictionary(std::string name, std::string help) {
  Option option;
  option.name = std::move(name);
  option.help = std::move(help);
  option.hint = "DICT";
  option.wanted = "a dictionary such as '{key: value}'";
  option.entries = std::make_unique<OptionTable>();
  option.show = [entries = option.entries.get()] {
    ConfigValue map;
    map.kind = Kind::map;
    for (const Option& entry : entries->options()) {
      ConfigValue value = entry.show();
      if (value.kind != Kind::null) map.insert(entry.name, std::move(value));
    }
    return map;
  };
  return *add_record(std::move(option)).entries;
}

Option& OptionTable::add_record(Option option) {
  PANDO_CHECK(find_exact(option.name) == nullptr, "option '", option.name, "' is added twice");
  option.group = group_;
  option.effect = effect_;
  option.built_in = option.show();
  return options_.emplace_back(std::move(option));
}

const Option* OptionTable::find_exact(std::string_view name) const {
  for (const Option& option : options_) {
    const auto& aliases = option.aliases;
    if (option.name == name) return &option;
    if (std::find(aliases.begin(), aliases.end(), name) != aliases.end()) return &option;
  }
  return nullptr;
}

void OptionTable::add_positional(std::string name, std::string& field, std::string help,
                                 bool required) {
  PANDO_CHECK(!required || positionals_.empty() || positionals_.back().required);
  PANDO_CHECK(positionals_.empty() || positionals_.back().field != nullptr);
  positionals_.push_back({std::move(name), std::move(help), required, &field, nullptr});
}

void OptionTable::add_positionals(std::string name, std::vector<std::string>& fields,
                                  std::string help, bool required) {
  PANDO_CHECK(!required || positionals_.empty() || positionals_.back().required);
  positionals_.push_back({std::move(name), std::move(help), required, nullptr, &fields});
}

Option& OptionTable::find(std::string_view name, std::string_view label) {
  if (const Option* exact = find_exact(name)) return const_cast<Option&>(*exact);
  const std::string dashes = label == concat("--", name) ? "--" : "";
  std::vector<Option*> begun;
  std::vector<std::string> begun_names;
  std::vector<std::string> known;
  for (Option& option : options_) {
    std::vector<std::string> names = option.aliases;
    names.insert(names.begin(), option.name);
    known.insert(known.end(), names.begin(), names.end());
    if (option.is_bool && !dashes.empty()) known.push_back("no-" + option.name);
    const auto begins = [&](const std::string& full) { return full.starts_with(name); };
    const auto first = std::find_if(names.begin(), names.end(), begins);
    if (name.empty() || first == names.end()) continue;
    begun.push_back(&option);
    begun_names.push_back(dashes + *first);
  }
  const std::optional<ForeignTarget> foreign = find_foreign(*this, name);
  if (begun.size() == 1 && (!foreign || foreign->option == begun.front())) return *begun.front();
  if (foreign) {
    throw UsageError(label, ": unknown name; did you mean '", to_text(*foreign, dashes), "'?");
  }
  if (begun.size() > 1) throw UsageError(label, ": ambiguous, matches ", join(begun_names, ", "));
  throw UsageError(label, ": unknown name", suggestion(name, known, dashes));
}

void OptionTable::assign(Option& option, const ConfigValue& value, const Origin& origin) {
  if (option.entries) {
    assign_dictionary(option, value, origin);
  } else {
    const ConfigValue shaped = option.is_list ? as_list(value, label_of(option, origin)) : value;
    if (option.is_list && shaped.kind != Kind::list) refuse(option, value, origin);
    if (!is_in_range(option, shaped) || !option.read(shaped)) refuse(option, value, origin);
  }
  option.origin = origin;
}

void OptionTable::assign_dictionary(Option& option, const ConfigValue& value,
                                    const Origin& origin) {
  const std::string label = label_of(option, origin);
  const ConfigValue map =
      value.kind == Kind::scalar ? parse_dictionary(option, value, label) : value;
  if (map.kind != Kind::map && map.kind != Kind::null) refuse(option, value, origin);
  for (Option& entry : option.entries->options_) entry.read(ConfigValue());
  for (size_t i = 0; i < map.items.size(); ++i) {
    const std::string& key = map.keys[i];
    const std::string place = map.items[i].place.empty() ? label : map.items[i].place;
    // Errors in a dictionary name the position of the key, not of the dictionary.
    const Origin at{
        .kind = Origin::Kind::file,
        .place = origin.kind == Origin::Kind::file ? concat(place, ": ", option.name) : place};
    Option& entry = option.entries->find(key, concat(at.place, ": '", key, "'"));
    option.entries->assign(entry, map.items[i], at);
  }
}

void OptionTable::assign_all(const ConfigValue& map, const std::string& preset) {
  std::vector<const Option*> seen;
  for (size_t i = 0; i < map.items.size(); ++i) {
    const ConfigValue& value = map.items[i];
    Option& option = find(map.keys[i], concat(value.place, ": '", map.keys[i], "'"));
    if (!option.in_config) {
      throw UsageError(value.place, ": '", map.keys[i], "' is allowed only on the command line");
    }
    if (std::find(seen.begin(), seen.end(), &option) != seen.end()) {
      throw UsageError(value.place, ": '", map.keys[i], "' sets ", option.name,
                       ", which is already set in this file");
    }
    seen.push_back(&option);
    assign(option, value, {.kind = Origin::Kind::file, .preset = preset, .place = value.place});
  }
}

}  // namespace pando

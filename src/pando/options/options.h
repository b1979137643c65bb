// A table of typed options: each binds a name to a field of a struct and knows its group, help,
// range and where its value came from. The same names hold on the command line and in YAML.
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pando/base/strings.h"
#include "pando/options/config_value.h"
#include "pando/options/option_types.h"

namespace pando {

class OptionTable;

// Where an effective value came from; later kinds win over earlier ones.
struct Origin {
  enum class Kind { built_in, file, command_line };
  Kind kind = Kind::built_in;
  std::string preset;    // the name of the preset in the file, if one was chosen
  std::string place;     // "file:line:column", the flag as it was written, or a word on a default
  bool follows = false;  // another option; a configuration that has only that one suits any
};
std::string to_string(const Origin& origin);

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

struct Option {
  std::string name;
  std::string group;
  std::string help;
  std::string hint;    // what stands for the value in --help: "N", "DIR"
  std::string wanted;  // for messages: "a whole number"
  std::vector<std::string> aliases;
  std::vector<std::string> choices;
  std::optional<double> low;
  std::optional<double> high;
  bool low_excluded = false;
  bool high_excluded = false;
  bool is_bool = false;  // may stand without a value
  bool is_list = false;
  bool in_config = true;    // may stand in a file and is written into one
  bool hidden = false;      // works, but --help does not show it
  bool of_one_run = false;  // where a run writes and how much it prints: a repeated run starts anew
  Origin origin;
  ConfigValue built_in;                          // the default, unless a dictionary
  std::function<bool(const ConfigValue&)> read;  // false: does not fit
  std::function<ConfigValue()> show;
  std::unique_ptr<OptionTable> entries;  // of a dictionary

  Option& with_alias(std::string other);
  Option& with_hint(std::string text);
  Option& at_least(double bound);
  Option& above(double bound);
  Option& at_most(double bound);
  Option& below(double bound);
  Option& command_line_only();
  Option& only_for_this_run();
};

// The default; of a dictionary, the keys that have one.
ConfigValue default_of(const Option& option);

// Whether the value is another than the default.
bool is_changed(const Option& option);

// A word of the command line that is no flag, told by its place: the NAME of `pando data fetch
// NAME`.
struct Positional {
  std::string name;
  std::string help;
  bool required = true;
  std::string* field = nullptr;
};

// Owns the options, not the fields: those must outlive the table. Used by one thread.
class OptionTable {
 public:
  // Options added from now on stand under this heading of --help.
  void begin_group(std::string title) { group_ = std::move(title); }

  // Binds a bool, int, int64_t, double, Fraction, std::string, or a std::optional or std::vector of
  // one.
  // The field's present value is the default.
  template <typename T>
  Option& add(std::string name, T& field, std::string help);

  // Binds an enumeration (or text) to its names, compared without case. Several names may stand for
  // one value; the first is the one that is written. Nothing is a value of a std::optional field.
  template <typename T>
  Option& add_choice(std::string name, T& field, std::vector<std::pair<std::string, T>> names,
                     std::string help);

  // A dictionary whose keys are options of their own; bind them to std::optional fields, because a
  // dictionary that is given replaces the one before as a whole.
  OptionTable& add_dictionary(std::string name, std::string help);

  // Words without a flag, in this order; what is required stands before what is not.
  void add_positional(std::string name, std::string& field, std::string help, bool required = true);
  const std::vector<Positional>& positionals() const { return positionals_; }

  // By name, alias or unambiguous prefix. Throws UsageError that starts with `label` (which repeats
  // the name as the user wrote it) and offers the nearest name.
  Option& find(std::string_view name, std::string_view label);
  const Option* find_exact(std::string_view name) const;

  // Sets the field after checking type, range and choice; throws UsageError with flag or key,
  // value and what is wanted.
  void assign(Option& option, const ConfigValue& value, const Origin& origin);

  // Every key of a map out of a file. `preset` may be empty.
  void assign_all(const ConfigValue& map, const std::string& preset);

  const std::deque<Option>& options() const { return options_; }

 private:
  Option& add_record(Option option);
  void assign_dictionary(Option& option, const ConfigValue& value, const Origin& origin);

  std::deque<Option> options_;  // a deque keeps references valid
  std::vector<Positional> positionals_;
  std::string group_;
};

// What a message and the reference say is wanted: the type with its range.
std::string wanted_text(const Option& option);

// What stands for the value behind the flag, with a space before it: " N", " [BOOL]".
std::string value_hint(const Option& option);

// The text of --help: headings, flags, defaults, 100 columns.
std::string help_text(const OptionTable& table);

// The same as Markdown with all that is known of each option, for the reference of a command.
std::string markdown_text(const OptionTable& table);

// show: every value as it is. repeat: options of one run (only_for_this_run) have their defaults,
// so that a run repeated from the text does not write over the first.
enum class ConfigUse { show, repeat };

// Every option that can stand in a file, as YAML that loads again; a comment tells each origin. An
// option that follows another one is a comment as a whole, so that it is chosen again.
std::string config_text(const OptionTable& table, ConfigUse use = ConfigUse::show);

// The same text with another value of one option, for what is chosen only when the run begins.
std::string with_setting(const std::string& config, const std::string& name,
                         const ConfigValue& value, const std::string& origin);

template <typename T>
Option& OptionTable::add(std::string name, T& field, std::string help) {
  Option option;
  option.name = std::move(name);
  option.help = std::move(help);
  option.wanted = OptionType<T>::kWanted;
  option.is_bool = std::is_same_v<T, bool> || std::is_same_v<T, std::optional<bool>>;
  option.is_list = kIsList<T>;
  option.read = [&field](const ConfigValue& value) { return OptionType<T>::read(value, field); };
  option.show = [&field] { return OptionType<T>::show(field); };
  return add_record(std::move(option));
}

template <typename T>
Option& OptionTable::add_choice(std::string name, T& field,
                                std::vector<std::pair<std::string, T>> names, std::string help) {
  Option option;
  option.name = std::move(name);
  option.help = std::move(help);
  for (const auto& entry : names) option.choices.push_back(entry.first);
  option.wanted = "one of " + join(option.choices, ", ");
  option.show = [&field, names] {
    for (const auto& [text, value] : names) {
      if (value == field) return ConfigValue::scalar(text);
    }
    return ConfigValue();
  };
  option.read = [&field, names](const ConfigValue& value) {
    if constexpr (kIsOptional<T>) {
      if (value.kind == ConfigValue::Kind::null) {
        field.reset();
        return true;
      }
    }
    for (const auto& [text, named] : names) {
      if (value.kind == ConfigValue::Kind::scalar && to_lower(text) == to_lower(value.text)) {
        field = named;
        return true;
      }
    }
    return false;
  };
  return add_record(std::move(option));
}

}  // namespace pando

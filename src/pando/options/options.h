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
  std::string place;     // "file:line:column", the flag as it was written, or a note on a default
  bool follows = false;  // the value was derived from another option, so that a configuration file
                         // does not need to contain it
};
std::string to_string(const Origin& origin);

// What it means for a resumed run if the value of an option has changed. The default is that
// results change, so that a new option is never forgotten.
enum class Effect {
  none,             // the weights after a weight update do not depend on it
  changes_results,  // they do
  other_run         // it would be another run
};

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

struct Option {
  std::string name;
  std::string group;
  std::string help;
  std::string hint;        // the placeholder of the value in --help: "N", "DIR"
  std::string wanted;      // the expected value, for messages: "a whole number"
  std::string type_limit;  // values of this type are below it: "2^31"; empty: any value
  std::vector<std::string> aliases;
  std::vector<std::string> choices;
  std::optional<double> low;
  std::optional<double> high;
  bool low_excluded = false;
  bool high_excluded = false;
  bool is_bool = false;  // the flag may have no value
  bool is_list = false;
  bool takes_empty = false;  // an empty value on the command line is not an error
  bool in_config = true;     // is allowed in configuration files and written to them
  bool hidden = false;       // works, but --help does not show it
  bool of_one_run = false;   // says where a run writes or how much it prints: not taken over by a
                             // repeated run
  bool of_training = false;  // has no meaning for a command that does not train
  Effect effect = Effect::changes_results;
  std::string counted_as;  // the property of a run that its value is part of; empty: it is its own
  Origin origin;
  ConfigValue built_in;                          // the default; unused for dictionaries
  std::function<bool(const ConfigValue&)> read;  // returns false if the value does not fit
  std::function<ConfigValue()> show;
  std::unique_ptr<OptionTable> entries;  // the keys of a dictionary, else null

  Option& with_alias(std::string other);
  Option& with_hint(std::string text);
  Option& at_least(double bound);
  Option& above(double bound);
  Option& at_most(double bound);
  Option& below(double bound);
  Option& command_line_only();
  Option& may_stand_alone();  // without a value: "true"
  Option& may_be_empty();
  Option& only_for_this_run();
  Option& only_for_training();
  Option& has(Effect kind);
  Option& counts_as(std::string property);
};

// The default; for a dictionary, a map of the keys that have a default.
ConfigValue default_of(const Option& option);

// Whether the value differs from the default.
bool is_changed(const Option& option);

// An argument of the command line that is not a flag and is known by its position: NAME in
// `pando data fetch NAME`.
struct Positional {
  std::string name;
  std::string help;
  bool required = true;
  std::string* field = nullptr;
  std::vector<std::string>* fields = nullptr;  // instead: any number of arguments
};

// Owns the options, but not the fields, which must outlive the table. Used by one thread.
class OptionTable {
 public:
  // Options added from now on appear under this heading of --help and have this effect.
  void begin_group(std::string title, Effect effect = Effect::changes_results) {
    group_ = std::move(title);
    effect_ = effect;
  }

  // Binds a bool, int, int64_t, double, Fraction, std::string, or a std::optional or std::vector of
  // one. The present value of the field is the default.
  template <typename T>
  Option& add(std::string name, T& field, std::string help);

  // Binds an enumeration (or text) to its names, compared without case. Several names may mean the
  // same value; the first of them is written to files. A std::optional field may also be null.
  template <typename T>
  Option& add_choice(std::string name, T& field, std::vector<std::pair<std::string, T>> names,
                     std::string help);

  // Adds a dictionary and returns the table for its keys, which are options. Bind them to
  // std::optional fields, because setting a dictionary replaces all of its former keys.
  OptionTable& add_dictionary(std::string name, std::string help);

  // Positional arguments come in the order of these calls, required ones before optional ones.
  void add_positional(std::string name, std::string& field, std::string help, bool required = true);
  // The last ones: any number of arguments, at least one if required.
  void add_positionals(std::string name, std::vector<std::string>& fields, std::string help,
                       bool required = true);
  const std::vector<Positional>& positionals() const { return positionals_; }

  // Finds an option by name, alias or unambiguous prefix. Otherwise throws UsageError that starts
  // with `label` (the name as the user wrote it) and suggests what another program's name means
  // here (foreign_names.h), or else the nearest name.
  Option& find(std::string_view name, std::string_view label);
  const Option* find_exact(std::string_view name) const;

  // Checks type, range and choice, then sets the field. Throws UsageError with the flag or key, the
  // value and what was expected.
  void assign(Option& option, const ConfigValue& value, const Origin& origin);

  // Assigns every key of a map that was read from a file. `preset` may be empty.
  void assign_all(const ConfigValue& map, const std::string& preset);

  const std::deque<Option>& options() const { return options_; }

 private:
  Option& add_record(Option option);
  void assign_dictionary(Option& option, const ConfigValue& value, const Origin& origin);

  std::deque<Option> options_;  // a deque keeps references valid
  std::vector<Positional> positionals_;
  std::string group_;
  Effect effect_ = Effect::changes_results;
};

// Describes the expected value in messages and the reference: the type with its range.
std::string wanted_text(const Option& option);

// The placeholder of the value after the flag, with a leading space: " N", " [BOOL]".
std::string value_hint(const Option& option);

// The text of --help, 100 columns wide: headings, flags, defaults.
std::string help_text(const OptionTable& table);

// The same as Markdown, with everything known about each option, for the reference of a command.
std::string markdown_text(const OptionTable& table);

// show: every value as it is. repeat: options of one run (only_for_this_run) have their defaults,
// so that a run repeated from the text does not write over the first.
enum class ConfigUse { show, repeat };

// Every option that is allowed in a file, as YAML that can be loaded again; a comment names the
// origin of each value. An option that was derived from another one is commented out, so that
// loading the text derives it again.
std::string config_text(const OptionTable& table, ConfigUse use = ConfigUse::show);

// Replaces the value of one option in such a text, for options chosen only when the run begins.
std::string with_setting(const std::string& config, const std::string& name,
                         const ConfigValue& value, const std::string& origin);

template <typename T>
Option& OptionTable::add(std::string name, T& field, std::string help) {
  Option option;
  option.name = std::move(name);
  option.help = std::move(help);
  option.wanted = OptionType<T>::kWanted;
  option.type_limit = kTypeLimit<T>;
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

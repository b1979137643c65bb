// SPDX-License-Identifier: MIT
#include "pando/options/command_line.h"

#include <algorithm>
#include <filesystem>

#include "pando/base/paths.h"
#include "pando/options/presets.h"
#include "pando/options/usage_error.h"

namespace pando {
namespace {

const Origin kCommandLine{.kind = Origin::Kind::command_line};

// One setting of the command line; `entry` is set if it concerns one key of a dictionary.
struct Assignment {
  Option* option = nullptr;
  Option* entry = nullptr;
  ConfigValue value;
  std::string label;  // how messages name an entry
};

bool is_flag(const std::string& arg) { return arg.starts_with("--") || arg == "-h" || arg == "-o"; }

class Parser {
 public:
  Parser(OptionTable& table, std::span<const std::string> args) : table_(table), args_(args) {}

  std::vector<Assignment> parse() {
    while (next_ < args_.size()) {
      const std::string& arg = args_[next_++];
      const bool unknown_output = arg == "-o" && table_.find_exact("output") == nullptr;
      if (is_flag(arg) && arg != "--" && !unknown_output) {
        parse_flag(arg);
      } else {
        take_positional(arg);
      }
    }
    check_positionals();
    return std::move(assignments_);
  }

 private:
  void take_positional(const std::string& arg) {
    const std::vector<Positional>& wanted = table_.positionals();
    const bool dashed = arg.size() > 1 && arg[0] == '-';
    if (trim(arg).empty()) {
      throw UsageError("'", arg, "': expected ", wanted.empty() ? "a flag" : names_of(wanted),
                       ", got an empty argument; is a shell variable unset?");
    }
    if (wanted.empty() || dashed) {
      throw UsageError("'", arg, "': not a flag; flags begin with --, see --help");
    }
    if (positionals_ == wanted.size()) {
      throw UsageError("'", arg, "': unexpected argument, expected only ", names_of(wanted),
                       "; see --help");
    }
    const Positional& place = wanted[positionals_];
    if (place.fields != nullptr) {  // the last one
      if (!rest_) place.fields->clear();
      rest_ = true;
      place.fields->push_back(arg);
      return;
    }
    *place.field = arg;
    ++positionals_;
  }

  void check_positionals() const {
    const std::vector<Positional>& wanted = table_.positionals();
    if (positionals_ == wanted.size() || !wanted[positionals_].required || rest_) return;
    throw UsageError(wanted[positionals_].name, ": not given, expected ", wanted[positionals_].help,
                     "; see --help");
  }

  static std::string names_of(const std::vector<Positional>& positionals) {
    std::vector<std::string> names;
    for (const Positional& positional : positionals) names.push_back(positional.name);
    return join(names, " ");
  }

  void parse_flag(const std::string& arg) {
    const size_t equals = arg.find('=');
    const std::string flag = arg == "-h"   ? "--help"
                             : arg == "-o" ? "--output"
                                           : arg.substr(0, equals);
    std::string name = flag.substr(2);
    Option& option = find(name, flag);
    const bool negated = !name.empty() && table_.find_exact(name) == nullptr && is_negated(name);
    if (negated && equals != std::string::npos) {
      throw UsageError(flag, ": takes no value, got '", arg.substr(equals + 1), "'");
    }
    if (negated) {
      add(option, ConfigValue::scalar("false"));
    } else if (option.name == "set") {
      const std::string text = take_value(option, arg, equals);
      parse_set(text);
      add(option, ConfigValue::scalar(text));
    } else if (option.is_list) {
      for (const std::string& text : take_list(option, arg, equals)) {
        grow(option, as_list(ConfigValue::scalar(text), "--" + option.name));
      }
    } else if (option.is_bool && equals == std::string::npos && !has_value_of(option)) {
      add(option, ConfigValue::scalar("true"));
    } else {
      add(option, ConfigValue::scalar(take_value(option, arg, equals)));
    }
  }

  // Whether the name is "no-" and the exact name of a boolean, as in --no-shuffle.
  bool is_negated(const std::string& name) const {
    if (!name.starts_with("no-")) return false;
    const Option* option = table_.find_exact(name.substr(3));
    return option != nullptr && option->is_bool;
  }

  Option& find(const std::string& name, const std::string& label) {
    const bool negated = table_.find_exact(name) == nullptr && is_negated(name);
    return table_.find(negated ? name.substr(3) : name, label);
  }

  bool has_value() const { return next_ < args_.size() && !is_flag(args_[next_]); }

  // Whether a value for a flag that may stand alone follows. If the command takes positional
  // arguments, `--json mnist` is a flag without a value and an argument.
  bool has_value_of(const Option& option) const {
    if (!has_value() || table_.positionals().empty()) return has_value();
    const std::string next = to_lower(args_[next_]);
    const auto is_next = [&](const std::string& choice) { return to_lower(choice) == next; };
    return parse_bool(next) || std::any_of(option.choices.begin(), option.choices.end(), is_next);
  }

  std::string take_value(const Option& option, const std::string& arg, size_t equals) {
    if (equals != std::string::npos) return not_empty(option, arg.substr(equals + 1));
    if (!has_value()) {
      throw UsageError("--", option.name, ": expected ", wanted_value(option), ", got no value");
    }
    return not_empty(option, args_[next_++]);
  }

  static std::string wanted_value(const Option& option) {
    return option.name == "set" ? "name=value" : wanted_text(option);
  }

  // `--run-dir "$UNSET"` must not start a run that the user did not ask for.
  static std::string not_empty(const Option& option, const std::string& text) {
    const bool is_list = option.is_list && !text.starts_with('[');
    if (option.takes_empty) return text;
    if (!trim(text).empty() && (!is_list || !as_list(ConfigValue::scalar(text), "").items.empty()))
      return text;
    throw UsageError("--", option.name, ": expected ", wanted_value(option), ", got '", text,
                     "'; is a shell variable unset?");
  }

  std::vector<std::string> take_list(const Option& option, const std::string& arg, size_t equals) {
    std::vector<std::string> texts = {take_value(option, arg, equals)};
    while (equals == std::string::npos && has_value()) {
      texts.push_back(not_empty(option, args_[next_++]));
    }
    return texts;
  }

  // Reads name=value or dictionary.key=value; the value is YAML.
  void parse_set(const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError("--set: expected name=value, got '", text, "'");
    }
    const std::string name = text.substr(0, equals);
    const std::string label = concat("--set ", name);
    if (trim(text.substr(equals + 1)).empty()) {
      throw UsageError(label, ": expected a value after =, got nothing; to empty an option, write ",
                       name, "=''");
    }
    ConfigValue value = parse_yaml(text.substr(equals + 1), label);
    const size_t dot = name.find('.');
    Option& option = table_.find(name.substr(0, dot), label);
    if (dot == std::string::npos && option.is_list) return grow(option, as_list(value, label));
    if (dot == std::string::npos) return add(option, std::move(value));
    if (!option.entries) throw UsageError(label, ": ", option.name, " is not a dictionary");
    Option& entry = option.entries->find(name.substr(dot + 1), label);
    assignments_.push_back({&option, &entry, std::move(value), label});
  }

  void add(Option& option, ConfigValue value) {
    assignments_.push_back({&option, nullptr, std::move(value), {}});
  }

  // A list that is given several times, by its flag or by --set, grows. A value that is not a list
  // is added unchanged; assign() rejects it later.
  void grow(Option& option, const ConfigValue& more) {
    const auto same = [&](const Assignment& other) {
      return other.option == &option && other.value.kind == ConfigValue::Kind::list;
    };
    const auto found = std::find_if(assignments_.begin(), assignments_.end(), same);
    if (found == assignments_.end() || more.kind != ConfigValue::Kind::list) {
      return add(option, more);
    }
    found->value.items.insert(found->value.items.end(), more.items.begin(), more.items.end());
  }

  OptionTable& table_;
  std::span<const std::string> args_;
  size_t next_ = 0;
  size_t positionals_ = 0;
  bool rest_ = false;  // whether the last positional has arguments
  std::vector<Assignment> assignments_;
};

void apply(OptionTable& table, const std::vector<Assignment>& assignments) {
  for (const Assignment& assignment : assignments) {
    if (assignment.entry == nullptr) {
      table.assign(*assignment.option, assignment.value, kCommandLine);
      continue;
    }
    assignment.option->entries->assign(
        *assignment.entry, assignment.value,
        {.kind = Origin::Kind::command_line, .place = assignment.label});
    assignment.option->origin = kCommandLine;
  }
}

void check_is_map(const ConfigValue& value, const std::string& path) {
  if (value.kind == ConfigValue::Kind::map || value.kind == ConfigValue::Kind::null) return;
  throw UsageError(value.place.empty() ? path : value.place, ": expected lines 'name: value'");
}

void apply_preset(OptionTable& table, const ConfigValue& file, const CommonOptions& common,
                  const std::string& path) {
  const ConfigValue* preset = file.find(common.config);
  if (preset == nullptr && path.empty() && is_plain_file(common.config)) {
    throw UsageError("--config: expected the name of a preset, got the file '", common.config,
                     "'; use --config-path ", common.config);
  }
  if (preset == nullptr) {
    throw UsageError("--config: ", path.empty() ? "" : path + ": ",
                     unknown_name_message("preset", common.config, file.keys));
  }
  check_is_map(*preset, path);
  table.assign_all(*preset, common.config);
}

void apply_file(OptionTable& table, const CommonOptions& common) {
  const std::string& path = common.config_path;
  if (path.empty())
    return apply_preset(table, parse_yaml(kPresetsText, kPresetsSource), common, path);
  ConfigValue file;
  try {
    file = load_yaml(path);
  } catch (const UsageError& error) {
    throw UsageError("--config-path: ", error.what());
  }
  check_is_map(file, path);
  if (!common.config.empty()) return apply_preset(table, file, common, path);
  const bool holds_presets =
      !file.keys.empty() &&
      std::all_of(file.items.begin(), file.items.end(),
                  [](const auto& item) { return item.kind == ConfigValue::Kind::map; }) &&
      table.find_exact(file.keys.front()) == nullptr;
  if (holds_presets) {
    throw UsageError("--config-path: ", path,
                     " contains presets; choose one with --config: ", join(file.keys, ", "));
  }
  table.assign_all(file, "");
}

}  // namespace

void add_help_option(OptionTable& table, CommonOptions& common) {
  table.add("help", common.help, "show this text and stop").command_line_only();
}

void add_common_options(OptionTable& table, CommonOptions& common) {
  table.begin_group("Configuration");
  table
      .add("config", common.config,
           "name of a preset in --config-path; without --config-path, of a built-in preset")
      .with_hint("NAME")
      .command_line_only();
  table
      .add("config-path", common.config_path,
           "YAML file whose keys are the names of these flags: with --config a file of presets, "
           "else one configuration")
      .with_hint("FILE")
      .command_line_only();
  table.add("set", common.set, "set an option or one key of a dictionary (name.key=value)")
      .with_hint("NAME=VALUE")
      .command_line_only();
  table.add("print-config", common.print_config, "print every effective option with its origin")
      .command_line_only();
  add_help_option(table, common);
}

void parse_command_line(OptionTable& table, CommonOptions& common,
                        std::span<const std::string> args) {
  const auto asks_help = [](const std::string& arg) { return arg == "--help" || arg == "-h"; };
  if (std::any_of(args.begin(), args.end(), asks_help)) {
    common.help = true;
    return;
  }
  const std::vector<Assignment> assignments = Parser(table, args).parse();
  apply(table, assignments);
  if (common.config.empty() && common.config_path.empty()) return;
  apply_file(table, common);
  // Applied again, because the command line overrides the file.
  apply(table, assignments);
}

}  // namespace pando

// `pando complete WORD...`: prints the words that can replace the last one, one per line. The shell
// completion (completions/pando.bash) calls it.
// SPDX-License-Identifier: MIT
#include <vector>

#include "pando/cli/help_page.h"
#include "pando/cli/program.h"
#include "pando/cli/subcommands.h"
#include "pando/options/config_value.h"
#include "pando/options/presets.h"
#include "pando/zoo/zoo.h"

namespace pando::cli {
namespace {

using Words = std::vector<std::string>;

const Subcommand* find_named(std::span<const Subcommand> commands, const std::string& name) {
  for (const Subcommand& command : commands) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

Words names_of(std::span<const Subcommand> commands) {
  Words names;
  for (const Subcommand& command : commands) {
    if (command.summary != nullptr) names.emplace_back(command.name);
  }
  return names;
}

Words values_of(const HelpFlag& flag) {
  Words values = flag.choices();
  if (flag.name == "--model") {
    for (const ZooEntry& entry : model_zoo()) values.push_back(entry.name);
  } else if (flag.name == "--config") {
    values = parse_yaml(kPresetsText, kPresetsSource).keys;
  }
  return values;
}

// The words that can follow `before`, the last complete word of a command.
Words candidates_of(const Subcommand& command, const std::string& before) {
  const HelpPage page = read_help(help_of(command));
  const HelpFlag* flag = page.find(before);
  const bool wants_value = flag != nullptr && !flag->hint.empty();
  Words found = wants_value ? values_of(*flag) : Words();
  if (wants_value && !flag->hint.starts_with("[")) return found;  // the value is required
  for (const HelpGroup& group : page.groups) {
    for (const HelpFlag& one : group.flags) {
      if (one.name.starts_with("--")) found.push_back(one.name);
    }
  }
  return found;
}

Words candidates(std::span<const std::string> before) {
  if (before.empty()) return names_of(subcommands());
  if (before[0] == "help") return before.size() == 1 ? names_of(subcommands()) : Words();
  const Subcommand* command = find_named(subcommands(), before[0]);
  if (command == nullptr || command->summary == nullptr) return {};
  if (before[0] == "data") {
    if (before.size() == 1) return names_of(data_verbs());
    command = find_named(data_verbs(), before[1]);
    if (command == nullptr) return {};
  }
  // In `pando run [flags] pando train [flags]`, completes the inner command once it has begun.
  for (size_t i = 1; before[0] == "run" && i < before.size(); ++i) {
    if (before[i] == "pando" || before[i].ends_with("/pando")) {
      return candidates(before.subspan(i + 1));
    }
  }
  return candidates_of(*command, before.back());
}

}  // namespace

int command_complete(std::span<const std::string> args, std::ostream& out) {
  if (args.empty()) return 0;
  for (const std::string& word : candidates(args.first(args.size() - 1))) {
    if (word.starts_with(args.back())) out << word << "\n";
  }
  return 0;
}

}  // namespace pando::cli

#include "pando/options/foreign_names.h"

#include <map>
#include <set>
#include <sstream>

#include "pando/app/flags/train_options.h"
#include "pando/cli/help_page.h"
#include "pando/cli/program.h"
#include "pando/cli/subcommands.h"
#include "tests/options/option_fixture.h"

namespace pando::app {
namespace {

// The names of all flags of every command and verb, as their help texts show them.
std::map<std::string, std::set<std::string>> flags_of_commands() {
  std::map<std::string, std::set<std::string>> flags;
  const auto add = [&](const std::string& name, const cli::Subcommand& command) {
    if (command.summary == nullptr) return;
    for (const cli::HelpGroup& group : cli::read_help(cli::help_of(command)).groups) {
      for (const cli::HelpFlag& flag : group.flags) {
        flags[name].insert(flag.name);
        const size_t alias = flag.help.find("alias --");
        if (alias != std::string::npos) {
          flags[name].insert(flag.help.substr(alias + 6, flag.help.find(')', alias) - alias - 6));
        }
      }
    }
  };
  for (const cli::Subcommand& command : cli::subcommands()) add(command.name, command);
  for (const cli::Subcommand& verb : cli::data_verbs()) add(concat("data ", verb.name), verb);
  return flags;
}

std::string error_of_program(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(cli::run_program(args, out, err), kUsage) << err.str();
  return err.str();
}

TEST(ForeignNames, EveryTargetIsAFlagOfSomeCommand) {
  const auto flags = flags_of_commands();
  TrainOptions options;
  OptionTable train;
  add_train_options(train, options);
  for (const ForeignNames& row : foreign_names()) {
    const std::string target(row.target);
    if (target.starts_with("pando ")) {
      const std::vector<std::string> words = split(target, ' ');
      ASSERT_EQ(words.size(), 3u) << target;
      EXPECT_TRUE(flags.at(words[1]).contains(words[2])) << target;
    } else if (const size_t dot = target.find('.'); dot != std::string::npos) {
      const Option* dictionary = train.find_exact(target.substr(0, dot));
      ASSERT_TRUE(dictionary != nullptr && dictionary->entries) << target;
      EXPECT_NE(dictionary->entries->find_exact(target.substr(dot + 1)), nullptr) << target;
    } else {
      const auto has_it = [&](const auto& command) {
        return command.second.contains("--" + target);
      };
      EXPECT_TRUE(std::any_of(flags.begin(), flags.end(), has_it)) << target;
    }
  }
}

// A row that no command can reach would be dead: its name is a flag everywhere, or another row's.
TEST(ForeignNames, EveryNameIsSuggestedBySomeCommand) {
  const auto flags = flags_of_commands();
  for (const ForeignNames& row : foreign_names()) {
    const std::string target(row.target);
    const std::string option = target.substr(0, target.find('.'));
    for (const std::string_view name : row.names) {
      const auto suggests = [&](const auto& command) {
        const bool elsewhere = target.starts_with("pando ");
        if (!elsewhere && !command.second.contains("--" + option)) return false;
        std::vector<std::string> args = split(command.first, ' ');
        args.push_back("--" + std::string(name));
        std::ostringstream out;
        std::ostringstream err;
        args.insert(args.end(), {"x", "--unknown-flag-that-ends-this"});
        cli::run_program(args, out, err);
        // Where the name abbreviates the same flag it is accepted, and the next one is the error.
        const bool accepted = err.str().find("--unknown-flag") != std::string::npos;
        return accepted || err.str().find(target) != std::string::npos;
      };
      EXPECT_TRUE(std::any_of(flags.begin(), flags.end(), suggests)) << target << " " << name;
    }
  }
}

TEST(ForeignNames, AreSuggestedInTheFormThatFits) {
  const auto error = [](const std::string& flag) { return error_of_program({"train", flag, "1"}); };
  EXPECT_SAYS(error("--data-dir"), "--data-dir: ", "'--dataset-path'?");
  EXPECT_SAYS(error("--Data_Dir"), "'--dataset-path'?");
  EXPECT_SAYS(error("--lr"), "'--learning-rate'?");     // not: ambiguous
  EXPECT_SAYS(error("--device"), "'--num-replicas'?");  // not: --device-mapping
  EXPECT_SAYS(error("--momentum"), "'--set optimizer-params.momentum=VALUE'?");
  EXPECT_SAYS(error("--nproc_per_node"), "'pando run --num-instances'?");
  EXPECT_SAYS(error_of_program({"run", "--nproc_per_node", "2", "true"}), "'--num-instances'?");
  EXPECT_SAYS(error_of_program({"data", "fetch", "--data-dir", "x"}), "'--folder'?");
  EXPECT_SAYS(error_of_program({"validate", "--bs", "2"}), "'--micro-batch-size'?");
  const TestFolder folder;
  const std::string file = folder.write("run.yml", "seed: 1\nmomentum: 0.5\n");
  EXPECT_SAYS(error_of_program({"train", "--config-path", file}), "run.yml:2:1: ", "'momentum'",
              "'optimizer-params: {momentum: VALUE}'?");
}

TEST(ForeignNames, AnAbbreviationOfTheSameFlagIsAccepted) {
  TrainOptions options;
  CommonOptions common;
  OptionTable table;
  add_train_options(table, options);
  parse_command_line(table, common, std::vector<std::string>{"--batch", "7"});
  EXPECT_EQ(options.micro_batch_size, 7);
}

TEST(OptionTable, SuggestsNegationsAndIgnoresCase) {
  EXPECT_SAYS(Fixture().error({"--no-shufle"}), "'--no-shuffle'?");
  EXPECT_SAYS(Fixture().error({"--COLOR", "red"}), "'--color'?");
}

}  // namespace
}  // namespace pando::app

#include <algorithm>

#include "pando/options/options.h"
#include "tests/options/option_fixture.h"

namespace pando::app {
namespace {

TEST(ConfigText, ARepeatedRunHasDefaultsForOptionsOfOneRun) {
  OptionTable table;
  std::string folder;
  std::string model = "oak";
  table.add("folder", folder, "where this run writes").only_for_this_run();
  table.add("model", model, "what it trains");
  folder = "here";
  model = "elm";
  EXPECT_NE(config_text(table).find("folder: here"), std::string::npos);
  const std::string repeated = config_text(table, ConfigUse::repeat);
  EXPECT_EQ(repeated.find("here"), std::string::npos) << repeated;
  EXPECT_NE(repeated.find("model: elm"), std::string::npos) << repeated;
}

TEST(ConfigText, LoadsAgainToTheSameValues) {
  const TestFolder folder;
  Fixture f;
  f.parse({"--rate", "1e-7", "--name", "it's #1: \"x\"", "--parts", "a b", "--params",
           "{momentum: 0.9}", "--seed=18446744073", "--color=azure"});
  const std::string path = folder.write("config.yml", config_text(f.table));
  Fixture again;
  again.parse({"--config-path", path});
  EXPECT_EQ(again.rate, 1e-7);
  EXPECT_EQ(again.name, f.name);
  EXPECT_EQ(again.parts, f.parts);
  EXPECT_EQ(again.momentum, 0.9);
  EXPECT_EQ(again.nesterov, std::nullopt);
  EXPECT_EQ(again.seed, 18446744073);
  EXPECT_EQ(again.color, Color::blue);
  EXPECT_NE(config_text(f.table).find("# command line"), std::string::npos);
  EXPECT_EQ(config_text(f.table).find("print-config"), std::string::npos);
}

TEST(HelpText, HasGroupsFlagsDefaultsAndFits) {
  Fixture f;
  const std::string help = help_text(f.table);
  for (const char* group : {"First:\n", "\nSecond:\n", "\nConfiguration:\n"}) {
    EXPECT_NE(help.find(group), std::string::npos) << group;
  }
  for (const Option& option : f.table.options()) {
    EXPECT_NE(help.find("  --" + option.name + " "), std::string::npos) << help;
  }
  EXPECT_NE(help.find("(default 10; alias --size)"), std::string::npos) << help;
  EXPECT_NE(help.find("--color red|blue|azure"), std::string::npos);
  EXPECT_NE(help.find("keys momentum nesterov"), std::string::npos);
  for (const std::string& line : split(help, '\n')) EXPECT_LE(line.size(), 100u) << line;
}

TEST(MarkdownText, BreaksLinesButNoCode) {
  OptionTable table;
  std::string field;
  std::string help;
  for (int i = 0; i < 20; ++i) help += concat("the `code with spaces ", i, "` ");
  table.add("name", field, help + "end").with_hint("A B");
  const std::vector<std::string> lines = split(markdown_text(table), '\n');
  EXPECT_GT(lines.size(), 6u);
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), 120u) << line;
    EXPECT_EQ(std::ranges::count(line, '`') % 2, 0) << line;
    if (line.starts_with("the") || line.starts_with("`")) ADD_FAILURE() << line;
  }
}

TEST(OptionText, OneSettingCanBeReplaced) {
  const std::string text = "# First\non: true  # default\non-top: 1  # default\n";
  EXPECT_EQ(with_setting(text, "on", ConfigValue::scalar("false"), "chosen"),
            "# First\non: false                                # chosen\non-top: 1  # default\n");
  EXPECT_EQ(with_setting("a: 1\n", "b", ConfigValue::scalar("2"), "chosen"),
            "a: 1\nb: 2                                     # chosen\n");
}

}  // namespace
}  // namespace pando::app

#include "pando/options/command_line.h"

#include "tests/options/option_fixture.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

TEST(CommandLine, ReadsEveryType) {
  Fixture f;
  f.parse({"--on", "--count", "3", "--micro-size=7", "--rate", "1/4", "--name", "a b", "--seed",
           "0", "--parts", "p", "q,r", "--numbers", "[1, 2.5]", "--color", "BLUE", "--params",
           R"({"momentum": 0.9, nesterov: yes})"});
  EXPECT_TRUE(f.on);
  EXPECT_EQ(f.count, 3);
  EXPECT_EQ(f.size, 7);
  EXPECT_EQ(f.rate, 0.25);
  EXPECT_EQ(f.name, "a b");
  EXPECT_EQ(f.seed, 0);
  EXPECT_EQ(f.parts, (std::vector<std::string>{"p", "q", "r"}));
  EXPECT_EQ(f.numbers, (std::vector<double>{1, 2.5}));
  EXPECT_EQ(f.color, Color::blue);
  EXPECT_EQ(f.momentum, 0.9);
  EXPECT_EQ(f.nesterov, true);
}

TEST(CommandLine, BooleansWithAndWithoutAValue) {
  for (const char* word : {"true", "t", "1", "yes", "y", "on", "TRUE", "Yes"}) {
    Fixture f;
    f.parse({"--on", word});
    EXPECT_TRUE(f.on) << word;
  }
  for (const char* word : {"false", "f", "0", "no", "n", "off", "False"}) {
    Fixture f;
    f.parse({std::string("--shuffle=") + word});
    EXPECT_FALSE(f.shuffle) << word;
  }
  Fixture f;
  f.parse({"--on", "--no-shuffle"});
  EXPECT_TRUE(f.on);
  EXPECT_FALSE(f.shuffle);
}

TEST(CommandLine, AFlagThatMayStandAloneLeavesArgumentsAlone) {
  struct WithArgument : Fixture {
    Color tint = Color::red;
    std::string what;
    WithArgument() {
      table.add_choice("tint", tint, {{"true", Color::red}, {"blue", Color::blue}}, "")
          .may_stand_alone();
      table.add_positional("WHAT", what, "what");
    }
  };
  for (const char* word : {"blue", "BLUE"}) {
    WithArgument f;
    f.parse({"--tint", word, "x"});
    EXPECT_EQ(f.tint, Color::blue);
    EXPECT_EQ(f.what, "x");
  }
  WithArgument f;
  f.parse({"--tint", "bleu"});
  EXPECT_EQ(f.tint, Color::red);
  EXPECT_EQ(f.what, "bleu");
}

TEST(CommandLine, TheLastArgumentsMayBeMany) {
  struct WithArguments : Fixture {
    std::string what;
    std::string output;
    std::vector<std::string> files = {"old"};
    WithArguments() {
      table.add_positional("WHAT", what, "what");
      table.add_positionals("FILE", files, "some files");
      table.add("output", output, "");
    }
  };
  WithArguments f;
  f.parse({"a", "b", "-o", "x", "c", "--on", "d"});
  EXPECT_EQ(f.what, "a");
  EXPECT_EQ(f.files, (std::vector<std::string>{"b", "c", "d"}));
  EXPECT_EQ(f.output, "x");
  EXPECT_TRUE(f.on);
  WithArguments none;
  EXPECT_SAYS(testing_support::error_of<UsageError>([&] { none.parse({"a"}); }), "FILE",
              "some files");
}

TEST(CommandLine, AliasesPrefixesNegativeNumbersAndRepeats) {
  Fixture f;
  f.parse({"--size", "5", "--col", "azure", "--cou=2", "--cou=4", "--parts", "a", "--parts=b"});
  EXPECT_EQ(f.size, 5);
  EXPECT_EQ(f.color, Color::blue);
  EXPECT_EQ(f.count, 4);
  EXPECT_EQ(f.parts, (std::vector<std::string>{"a", "b"}));
  EXPECT_SAYS(f.error({"--rate", "-3"}), "--rate", "a number", "'-3'");
}

TEST(CommandLine, SetReachesOptionsAndKeysOfDictionaries) {
  Fixture f;
  f.parse({"--params", "{momentum: 0.5}", "--set", "params.nesterov=true", "--set=count=3"});
  EXPECT_EQ(f.momentum, 0.5);
  EXPECT_EQ(f.nesterov, true);
  EXPECT_EQ(f.count, 3);
  EXPECT_EQ(f.origin("params"), "command line");
}

TEST(CommandLine, ListsGrowByFlagAndBySet) {
  const std::vector<std::string> both = {"a", "b"};
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"--set", "parts=a", "--parts", "b"},
        {"--parts", "a", "--set", "parts=b"},
        {"--set=parts=[a]", "--set=parts=b"},
        {"--set", "parts=a,b"}}) {
    Fixture f;
    f.parse(args);
    EXPECT_EQ(f.parts, both) << args.front();
  }
  EXPECT_SAYS(Fixture().error({"--parts", "a", "--set", "parts={a: 1}"}), "--parts", "{a: 1}");
}

TEST(CommandLine, HelpWinsOverEverythingElse) {
  Fixture f;
  f.parse({"--nonsense", "--help"});
  EXPECT_TRUE(f.common.help);
}

TEST(CommandLine, MessagesNameFlagValueAndWish) {
  const auto error = [](const std::vector<std::string>& args) { return Fixture().error(args); };
  EXPECT_SAYS(error({"--count", "ten"}), "--count: ", "a whole number", "at least 1", "at most 9",
              "'ten'");
  EXPECT_SAYS(error({"--rate", "0"}), "--rate: ", "a number or a fraction a/b", "above 0", "'0'");
  EXPECT_SAYS(error({"--seed"}), "--seed: ", "a whole number", "no value");
  EXPECT_SAYS(error({"--color", "blu"}), "--color: ", "'blu'", "'blue'?", "blue, red, azure");
  EXPECT_SAYS(error({"--suffle"}), "--suffle: ", "'--shuffle'?");
  EXPECT_SAYS(error({"--qqqqqqqq"}), "--qqqqqqqq: ", "--help");
  EXPECT_SAYS(error({"--n", "1"}), "--n: ambiguous", "--name, --numbers");
  EXPECT_SAYS(error({"stray"}), "'stray': ", "flag", "--help");
  EXPECT_SAYS(error({"--no-shuffle=1"}), "--no-shuffle: ", "no value", "'1'");
  EXPECT_SAYS(error({"--set", "count"}), "--set: ", "name=value", "'count'");
  EXPECT_SAYS(error({"--set", "count.x=1"}), "--set count.x: ", "count", "dictionary");
  EXPECT_SAYS(error({"--set", "params.momentum=2"}),
              "--set params.momentum: ", "a number or a fraction a/b", "at most 1", "'2'");
  EXPECT_SAYS(error({"--params", "5"}), "--params: ", "a dictionary such as '{key: value}'", "'5'");
  EXPECT_SAYS(error({"--params", "{"}), "--params", "a dictionary such as '{momentum: value}'");
  EXPECT_SAYS(error({"--params", "{momentun: 1}"}), "--params:1:2: 'momentun': ", "'momentum'?");
  EXPECT_SAYS(error({"--numbers", "1", "-2"}),
              "--numbers: ", "a list, each item a number or a fraction a/b", "at least 0",
              "[1, -2]");
}

TEST(CommandLine, AnEmptyValueIsAnError) {
  const auto error = [](const std::vector<std::string>& args) { return Fixture().error(args); };
  Fixture all;
  for (const Option& option : all.table.options()) {
    if (option.is_bool && !option.in_config) continue;  // --help and --print-config take no value
    const std::string flag = "--" + option.name;
    EXPECT_SAYS(error({flag, ""}), flag + ": expected ", "got ''");
    EXPECT_SAYS(error({flag + "="}), flag + ": expected ", "got ''");
    EXPECT_SAYS(error({flag + "= "}), flag + ": expected ", "got ' '");
  }
  EXPECT_SAYS(error({"--parts", "a", ""}), "--parts: ", "got ''");
  EXPECT_SAYS(error({"--parts", ","}), "--parts: ", "got ','");
  EXPECT_SAYS(error({"--set", "name="}), "--set name: ", "a value", "name=''");
  EXPECT_SAYS(error({"", "--on"}), "'': ", "empty argument");
  Fixture emptied;
  emptied.parse({"--set", "name=''", "--parts", "[]"});
  EXPECT_EQ(emptied.name, "");
  Fixture free;
  free.table.find("name", "").may_be_empty();
  free.parse({"--name", ""});
  EXPECT_EQ(free.name, "");
}

TEST(ConfigFile, StandsBetweenDefaultsAndCommandLine) {
  const TestFolder folder;
  const std::string path =
      folder.write("run.yml", "count: 5\nsize: 20\nparts: [a, b]\nparams: {momentum: 0.1}\n");
  Fixture f;
  f.parse({"--count", "6", "--config-path", path, "--set", "params.nesterov=on"});
  EXPECT_EQ(f.count, 6);
  EXPECT_EQ(f.size, 20);
  EXPECT_EQ(f.rate, 0.5);
  EXPECT_EQ(f.momentum, 0.1);
  EXPECT_EQ(f.nesterov, true);
  EXPECT_EQ(f.origin("count"), "command line");
  EXPECT_EQ(f.origin("size"), path + ":2:1");
  EXPECT_EQ(f.origin("rate"), "default");
}

TEST(ConfigFile, APresetIsChosenByName) {
  const TestFolder folder;
  const std::string path = folder.write(
      "configs.yml", "base: &base\n  count: 5\n  color: blue\nbig:\n  <<: *base\n  size: 99\n");
  Fixture f;
  f.parse({"--config", "big", "--config-path", path});
  EXPECT_EQ(f.count, 5);
  EXPECT_EQ(f.size, 99);
  EXPECT_EQ(f.origin("size"), "preset big, " + path + ":6:3");
  EXPECT_EQ(f.origin("count"), "preset big, " + path + ":2:3");

  EXPECT_SAYS(Fixture().error({"--config", path}), "--config: ", "the file '" + path,
              "use --config-path " + path);
  EXPECT_SAYS(Fixture().error({"--config", "bigg", "--config-path", path}), "--config: " + path,
              "'bigg'", "'big'?", "big, base");
  EXPECT_SAYS(Fixture().error({"--config-path", path}), "--config-path: " + path,
              "--config: ", "base, big");
}

TEST(ConfigFile, ErrorsNameThePlace) {
  const TestFolder folder;
  const auto error = [&](const std::string& text) {
    const std::string path = folder.write("run.yml", text);
    const std::string message = Fixture().error({"--config-path", path});
    return message.substr(message.find("run.yml"));
  };
  EXPECT_SAYS(error("count: 5\ncuont: 5\n"), "run.yml:2:1: 'cuont': ", "'count'?");
  EXPECT_SAYS(error("count: many\n"), "run.yml:1:1: count: ", "a whole number", "at least 1",
              "at most 9", "'many'");
  EXPECT_SAYS(error("count:\n"), "run.yml:1:1: count: ", "nothing");
  EXPECT_SAYS(error("count: [1]\n"), "run.yml:1:1: count: ", "[1]");
  EXPECT_SAYS(error("parts: {a: 1}\n"), "run.yml:1:1: parts: ", "{a: 1}");
  EXPECT_SAYS(error("size: 5\nmicro-size: 5\n"), "run.yml:2:1: 'micro-size' ", "set in this file");
  EXPECT_SAYS(error("config: x\n"), "run.yml:1:1: 'config' ", "command line");
  EXPECT_SAYS(error("- a\n- b\n"), "run.yml:1:1: ", "'name: value'");
  EXPECT_SAYS(error("params: {momentum: 3}\n"),
              "run.yml:1:10: params: momentum: ", "a number or a fraction a/b", "at most 1", "'3'");
  EXPECT_EQ(error("a: [\n").rfind("run.yml:", 0), 0u);
  EXPECT_SAYS(Fixture().error({"--config-path", "/absent.yml"}), "--config-path: /absent.yml: ");
  EXPECT_SAYS(Fixture().error({"--config", "x"}), "--config: ", "preset 'x'", "known: ");
}

}  // namespace
}  // namespace pando::app

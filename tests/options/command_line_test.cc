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

TEST(CommandLine, AliasesPrefixesNegativeNumbersAndRepeats) {
  Fixture f;
  f.parse({"--size", "5", "--col", "azure", "--cou=2", "--cou=4", "--parts", "a", "--parts=b"});
  EXPECT_EQ(f.size, 5);
  EXPECT_EQ(f.color, Color::blue);
  EXPECT_EQ(f.count, 4);
  EXPECT_EQ(f.parts, (std::vector<std::string>{"a", "b"}));
  EXPECT_NE(f.error({"--rate", "-3"}).find("found '-3', wanted a number"), std::string::npos);
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
  EXPECT_NE(Fixture().error({"--parts", "a", "--set", "parts={a: 1}"}).find("found {a: 1}"),
            std::string::npos);
}

TEST(CommandLine, HelpWinsOverEverythingElse) {
  Fixture f;
  f.parse({"--nonsense", "--help"});
  EXPECT_TRUE(f.common.help);
}

TEST(CommandLine, MessagesNameFlagValueAndWish) {
  const auto error = [](const std::vector<std::string>& args) { return Fixture().error(args); };
  EXPECT_EQ(error({"--count", "ten"}),
            "--count: found 'ten', wanted a whole number below 2^31, at least 1, at most 9");
  EXPECT_EQ(error({"--rate", "0"}),
            "--rate: found '0', wanted a number or a fraction a/b, above 0");
  EXPECT_EQ(error({"--seed"}), "--seed: no value given, wanted a whole number");
  EXPECT_EQ(error({"--color", "blu"}),
            "--color: unknown value 'blu'; did you mean 'blue'? known: blue, red, azure");
  EXPECT_EQ(error({"--suffle"}), "--suffle: unknown name; did you mean '--shuffle'?");
  EXPECT_EQ(error({"--qqqqqqqq"}), "--qqqqqqqq: unknown name; --help lists them");
  EXPECT_EQ(error({"--n", "1"}), "--n: ambiguous, it begins --name, --numbers");
  EXPECT_EQ(error({"stray"}), "'stray': not a flag; flags begin with --, see --help");
  EXPECT_EQ(error({"--no-shuffle=1"}), "--no-shuffle: takes no value, found '1'");
  EXPECT_EQ(error({"--set", "count"}), "--set: found 'count', wanted name=value");
  EXPECT_EQ(error({"--set", "count.x=1"}), "--set count.x: count is no dictionary");
  EXPECT_EQ(error({"--set", "params.momentum=2"}),
            "--set params.momentum: found '2', wanted a number or a fraction a/b, at most 1");
  EXPECT_EQ(error({"--params", "5"}),
            "--params: found '5', wanted a dictionary such as '{key: value}'");
  EXPECT_SAYS(error({"--params", "{"}), ", wanted a dictionary such as '{momentum: value}'");
  EXPECT_EQ(error({"--params", "{momentun: 1}"}),
            "--params:1:2: 'momentun': unknown name; did you mean 'momentum'?");
  EXPECT_EQ(error({"--numbers", "1", "-2"}),
            "--numbers: found [1, -2], wanted a list, each item a number or a fraction a/b, at "
            "least 0");
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

  EXPECT_EQ(Fixture().error({"--config", "bigg", "--config-path", path}),
            "--config: " + path + ": unknown preset 'bigg'; did you mean 'big'? known: big, base");
  EXPECT_EQ(Fixture().error({"--config-path", path}),
            "--config-path: " + path + " holds presets; choose one by --config: base, big");
}

TEST(ConfigFile, ErrorsNameThePlace) {
  const TestFolder folder;
  const auto error = [&](const std::string& text) {
    const std::string path = folder.write("run.yml", text);
    const std::string message = Fixture().error({"--config-path", path});
    return message.substr(message.find("run.yml"));
  };
  EXPECT_EQ(error("count: 5\ncuont: 5\n"),
            "run.yml:2:1: 'cuont': unknown name; did you mean 'count'?");
  EXPECT_EQ(error("count: many\n"),
            "run.yml:1:1: count: found 'many', wanted a whole number below 2^31, at least 1, at "
            "most 9");
  EXPECT_EQ(error("count:\n").rfind("run.yml:1:1: count: found nothing", 0), 0u);
  EXPECT_EQ(error("count: [1]\n").rfind("run.yml:1:1: count: found [1]", 0), 0u);
  EXPECT_EQ(error("parts: {a: 1}\n").rfind("run.yml:1:1: parts: found {a: 1}", 0), 0u);
  EXPECT_EQ(error("size: 5\nmicro-size: 5\n"),
            "run.yml:2:1: 'micro-size' sets micro-size, which was set before in this file");
  EXPECT_EQ(error("config: x\n"), "run.yml:1:1: 'config' belongs on the command line");
  EXPECT_EQ(error("- a\n- b\n"), "run.yml:1:1: wanted lines of 'name: value'");
  EXPECT_EQ(error("params: {momentum: 3}\n"),
            "run.yml:1:10: params: momentum: found '3', wanted a number or a fraction a/b, at most "
            "1");
  EXPECT_EQ(error("a: [\n").rfind("run.yml:", 0), 0u);
  EXPECT_NE(Fixture().error({"--config-path", "/absent.yml"}).find("--config-path: /absent.yml: "),
            std::string::npos);
  EXPECT_EQ(Fixture().error({"--config", "x"}).rfind("--config: unknown preset 'x'; known: ", 0),
            0u);
}

}  // namespace
}  // namespace pando::app

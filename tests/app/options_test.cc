#include "pando/app/options.h"

#include "pando/app/command_line.h"
#include "pando/app/exit_code.h"
#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

enum class Color { red, blue };

// One option of every type.
struct Fixture {
  bool on = false;
  bool shuffle = true;
  int count = 1;
  int64_t size = 10;
  double rate = 0.5;
  std::string name = "x";
  std::optional<int64_t> seed;
  std::vector<std::string> parts;
  std::vector<double> numbers;
  Color color = Color::red;
  std::optional<double> momentum;
  std::optional<bool> nesterov;
  CommonOptions common;
  OptionTable table;

  Fixture() {
    table.begin_group("First");
    table.add("on", on, "a switch");
    table.add("shuffle", shuffle, "another");
    table.add("count", count, "how many").at_least(1).at_most(9).with_hint("N");
    table.add("micro-size", size, "a size").with_alias("size").at_least(1);
    table.add("rate", rate, "a rate").above(0);
    table.begin_group("Second");
    table.add("name", name, "a name");
    table.add("seed", seed, "a seed").at_least(0);
    table.add("parts", parts, "some parts");
    table.add("numbers", numbers, "some numbers").at_least(0);
    table.add_choice("color", color,
                     {{"red", Color::red}, {"blue", Color::blue}, {"azure", Color::blue}},
                     "a color");
    OptionTable& params = table.add_dictionary("params", "parameters");
    params.add("momentum", momentum, "").at_most(1);
    params.add("nesterov", nesterov, "");
    add_common_options(table, common);
  }
  void parse(const std::vector<std::string>& args) { parse_command_line(table, common, args); }
  std::string error(const std::vector<std::string>& args) {
    return message_of<UsageError>([&] { parse(args); });
  }
  std::string origin(const std::string& name_of_option) const {
    return to_string(table.find_exact(name_of_option)->origin);
  }
};

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
  EXPECT_EQ(Fixture().error({"--config", "x"}).rfind("--config: configs.yml: ", 0), 0u);
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
    EXPECT_NE(help.find("  --" + option.name + " "), std::string::npos) << option.name;
  }
  EXPECT_NE(help.find("(default 10; alias --size)"), std::string::npos) << help;
  EXPECT_NE(help.find("--color red|blue|azure"), std::string::npos);
  EXPECT_NE(help.find("keys momentum nesterov"), std::string::npos);
  for (const std::string& line : split(help, '\n')) EXPECT_LE(line.size(), 100u) << line;
}

TEST(OptionTable, RefusesTheSameNameTwice) {
  Fixture f;
  EXPECT_NE(message_of<InternalError>([&] { f.table.add("size", f.size, ""); }), "");
}

TEST(Numbers, AreFiniteAndWhole) {
  EXPECT_EQ(parse_real("1/2"), 0.5);
  EXPECT_EQ(parse_real("1e-5"), 1e-5);
  for (const char* text : {"", "1/0", "1/", "/2", "nan", "inf", "1/2/3", "1x", "0x"}) {
    EXPECT_EQ(parse_real(text), std::nullopt) << text;
  }
  Fixture f;
  for (const char* text : {"1.0", "9999999999", "-9999999999", "1e1", ""}) {
    EXPECT_NE(f.error({"--count", text}), "") << text;
  }
}

}  // namespace
}  // namespace pando::app

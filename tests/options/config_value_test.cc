#include "pando/options/config_value.h"

#include "pando/app/job/exit_code.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

std::string error_in(const std::string& text) {
  return message_of<UsageError>([&] { parse_yaml(text, "f.yml"); });
}

TEST(Yaml, ReadsScalarsListsAndMapsWithPlaces) {
  const ConfigValue file = parse_yaml("a: 1e-5\nb: [x, 'y z']\nc:\n  d: ~\n", "f.yml");
  EXPECT_EQ(file.find("a")->text, "1e-5");
  EXPECT_EQ(file.find("b")->items[1].text, "y z");
  EXPECT_EQ(file.find("c")->find("d")->kind, ConfigValue::Kind::null);
  EXPECT_EQ(file.find("c")->find("d")->place, "f.yml:4:3");
  EXPECT_EQ(file.find("absent"), nullptr);
  EXPECT_EQ(parse_yaml("", "f.yml").kind, ConfigValue::Kind::null);
  EXPECT_EQ(parse_yaml(R"({"momentum": 0.9})", "f").find("momentum")->text, "0.9");
}

TEST(Yaml, ResolvesAnchorsAndMerges) {
  const ConfigValue file = parse_yaml(
      "base: &base {a: 1, b: 2}\nmore: &more {b: 3, c: 4}\n"
      "one:\n  <<: *base\n  a: 9\ntwo:\n  <<: [*base, *more]\n",
      "f.yml");
  EXPECT_EQ(to_yaml(*file.find("one")), "{a: 9, b: 2}");
  EXPECT_EQ(to_yaml(*file.find("two")), "{a: 1, b: 2, c: 4}");
}

TEST(Yaml, ErrorsHaveFileLineAndColumn) {
  EXPECT_EQ(error_in("a: 1\nb: [1, 2\n").rfind("f.yml:", 0), 0u);
  EXPECT_SAYS(error_in("a: 1\na: 2\n"), "f.yml:2:1: ", "'a'", "twice");
  EXPECT_SAYS(error_in("[1]: 2\n"), "f.yml:1:1: ", "key", "text");
  EXPECT_SAYS(error_in("a:\n  <<: 5\n"), "f.yml:2:7: ", "'<<'", "a map or a list of maps");
  EXPECT_SAYS(error_in("--- {a: 1}\n--- {b: 1}\n"), "f.yml:", "one YAML document");
  EXPECT_SAYS(error_in("a: *unknown\n"), "f.yml:1:");
  // yaml-cpp would find documents for ever.
  for (const char* text : {"[1, 2],\n", "{a: 1},", "{a: 1}]", "[1]}"}) {
    EXPECT_SAYS(error_in(text), "f.yml:1:");
  }
}

TEST(Yaml, RefusesDocumentsThatExplode) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string old = "*a" + std::to_string(i - 1) + ", ";
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + old + old + old + old +
            old + old + old + old + old + old + "]\n";
  }
  EXPECT_SAYS(error_in(text), "more than 100000 values");
}

// From 500 levels on, yaml-cpp refuses the text itself, with a place that may be far behind.
TEST(Yaml, RefusesDeepNestingWhereItBegins) {
  for (const int levels : {66, 100, 499, 501, 3000}) {
    std::string list = "first: 1\nsecond:\n";
    std::string map = list;
    for (int i = 0; i < levels; ++i) list += " [\n";
    for (int i = 0; i < levels; ++i) map += " {a:\n";
    list += " " + std::string(levels, ']') + "\nthird: 3\n";
    map += " 1" + std::string(levels, '}') + "\nthird: 3\n";
    EXPECT_SAYS(error_in(list), "f.yml:67:2: ", "too deep", "64 levels") << levels;
    EXPECT_SAYS(error_in(map), "f.yml:67:", "too deep", "64 levels") << levels;
  }
}

TEST(Yaml, FilesThatCannotBeRead) {
  const TestFolder folder;
  const auto error = [](const std::string& path) {
    return message_of<UsageError>([&] { load_yaml(path); });
  };
  EXPECT_SAYS(error((folder.path / "absent.yml").string()), "absent.yml", "No such file");
  EXPECT_SAYS(error(folder.path.string()), folder.path.string(), "directory");
  const std::string large = folder.write("large.yml", std::string((4 << 20) + 1, '#'));
  EXPECT_SAYS(error(large), large, "4 MiB");
  const std::string good = folder.write("good.yml", "a: 1\n");
  EXPECT_EQ(load_yaml(good).find("a")->place, good + ":1:1");
}

TEST(Yaml, LongKeysReadBackTheSame) {
  ConfigValue map;
  map.insert("a", ConfigValue::scalar("1"));
  map.insert(std::string(3000, 'k'), ConfigValue::scalar("2"));
  const std::string written = to_yaml(map);
  EXPECT_EQ(to_yaml(parse_yaml(written, "f")), written);
}

TEST(Yaml, WrittenTextReadsBackTheSame) {
  for (const char* text :
       {"",     "plain",    "-",           "~",         "null",  "with space", "a: b",
        "[x]",  "quote\"s", "back\\slash", "line\nend", "tab\t", "comma,",     "#hash",
        "über", "1.5",      "true",        "*",         "&a",    "!x",         "- x"}) {
    const ConfigValue list = ConfigValue::list({ConfigValue::scalar(text)});
    const ConfigValue again = parse_yaml("key: " + to_yaml(list), "f").items[0].items[0];
    EXPECT_EQ(again.kind, ConfigValue::Kind::scalar) << text;
    EXPECT_EQ(again.text, text);
  }
  EXPECT_EQ(to_yaml(ConfigValue()), "~");
}

}  // namespace
}  // namespace pando::app

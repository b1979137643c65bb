#include "pando/options/options.h"

#include "tests/options/option_fixture.h"

namespace pando::app {
namespace {

TEST(OptionTable, RefusesTheSameNameTwice) {
  Fixture f;
  EXPECT_NE(message_of<InternalError>([&] { f.table.add("size", f.size, ""); }), "");
}

TEST(OptionTable, AChoiceMayBeNothing) {
  std::optional<Color> color = Color::red;
  OptionTable table;
  OptionTable& entries = table.add_dictionary("dictionary", "");
  entries.add_choice("color", color, {{"red", Color::red}, {"blue", Color::blue}}, "");
  Option& dictionary = table.find("dictionary", "");
  EXPECT_EQ(to_yaml(default_of(dictionary)), "{color: red}");
  EXPECT_FALSE(is_changed(dictionary));
  table.assign(dictionary, ConfigValue::scalar("{color: blue}"), {});
  EXPECT_EQ(color, Color::blue);
  EXPECT_TRUE(is_changed(dictionary));
  table.assign(dictionary, ConfigValue::scalar("{}"), {});
  EXPECT_EQ(color, std::nullopt);
}

TEST(OptionTable, KnowsWhatIsNotTheDefault) {
  Fixture f;
  f.parse({"--count=1", "--on", "--parts", "a"});
  EXPECT_FALSE(is_changed(*f.table.find_exact("count")));
  EXPECT_TRUE(is_changed(*f.table.find_exact("on")));
  EXPECT_TRUE(is_changed(*f.table.find_exact("parts")));
  EXPECT_FALSE(is_changed(*f.table.find_exact("params")));
}

}  // namespace
}  // namespace pando::app

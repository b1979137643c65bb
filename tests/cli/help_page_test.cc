#include "pando/cli/help_page.h"

#include <gtest/gtest.h>

namespace pando::cli {
namespace {

constexpr const char* kText = R"(usage: pando sow [flags]

Sows. Two words:
  not a flag

Field:
  --seed NAME                     which one; 'pando seeds'
                                  lists them (default oak)
  --when spring|autumn|never
                                  the season

Tools:
  --dig [BOOL]                    before sowing
  --help                          show this text and stop
)";

TEST(HelpPage, HasUsageIntroGroupsAndFlags) {
  const HelpPage page = read_help(kText);
  EXPECT_EQ(page.usage, "pando sow [flags]");
  EXPECT_EQ(page.intro[1], "Sows. Two words:");
  ASSERT_EQ(page.groups.size(), 2u);
  EXPECT_EQ(page.groups[0].title, "Field");
  ASSERT_EQ(page.groups[0].flags.size(), 2u);
  const HelpFlag& seed = page.groups[0].flags[0];
  EXPECT_EQ(seed.name, "--seed");
  EXPECT_EQ(seed.hint, "NAME");
  EXPECT_EQ(seed.help, "which one; 'pando seeds' lists them (default oak)");
}

TEST(HelpPage, HintsTellTheChoices) {
  const HelpPage page = read_help(kText);
  EXPECT_EQ(page.find("--when")->choices(),
            (std::vector<std::string>{"spring", "autumn", "never"}));
  EXPECT_EQ(page.find("--when")->help, "the season");
  EXPECT_EQ(page.find("--dig")->choices(), (std::vector<std::string>{"true", "false"}));
  EXPECT_TRUE(page.find("--seed")->choices().empty());
  EXPECT_EQ(page.find("--help")->hint, "");
  EXPECT_EQ(page.find("--water"), nullptr);
}

}  // namespace
}  // namespace pando::cli

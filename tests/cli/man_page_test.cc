#include "pando/cli/man_page.h"

#include <gtest/gtest.h>

#include "pando/cli/subcommands.h"

namespace pando::cli {
namespace {

TEST(ManPage, HasTheSectionsOfAPage) {
  const std::string page = man_page({.name = "pando-sow",
                                     .summary = "sow seeds",
                                     .version = "1.2",
                                     .help = read_help("usage: pando sow [flags]\n\nSows.\n\n"
                                                       "Field:\n  --seed NAME   which one\n")});
  EXPECT_NE(page.find(".TH PANDO\\-SOW 1"), std::string::npos) << page;
  EXPECT_NE(page.find("pando\\-sow \\- sow seeds"), std::string::npos);
  EXPECT_NE(page.find(".SH SYNOPSIS\npando sow [flags]\n"), std::string::npos);
  EXPECT_NE(page.find(".SH FIELD\n.TP\n\\fB\\-\\-seed\\fR \\fINAME\\fR\nwhich one\n"),
            std::string::npos);
}

TEST(ManPage, TextIsNeverARequestOfRoff) {
  const std::string page =
      man_page({.name = "x", .help = read_help("usage: x\n\n.so /etc/passwd\n'quoted'\na\\b\n")});
  EXPECT_NE(page.find("\n\\&.so"), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&'quoted'"), std::string::npos);
  EXPECT_NE(page.find("a\\eb"), std::string::npos);
}

// A command whose help text has no usage line or flags would leave its page empty.
TEST(ManPage, EveryCommandHasAPage) {
  for (const auto commands : {subcommands(), data_verbs()}) {
    for (const Subcommand& command : commands) {
      if (command.summary == nullptr) continue;
      const HelpPage page = read_help(help_of(command));
      EXPECT_NE(page.usage, "") << command.name;
      EXPECT_TRUE(page.find("--help") != nullptr || std::string_view(command.name) == "data")
          << command.name;
    }
  }
}

}  // namespace
}  // namespace pando::cli

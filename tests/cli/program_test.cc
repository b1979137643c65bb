#include "pando/cli/program.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "tests/cli/run_cli.h"

namespace pando::cli {
namespace {

TEST(Program, HelpListsTheCommands) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{}, {"--help"}, {"-h"}, {"help"}}) {
    const Result result = run(args);
    EXPECT_EQ(result.code, app::kDone);
    EXPECT_NE(result.out.find("usage: pando <command>"), std::string::npos);
    EXPECT_NE(result.out.find("\n  devices "), std::string::npos);
    EXPECT_EQ(result.err, "");
  }
}

TEST(Program, HelpOfOneCommand) {
  const Result by_help = run({"help", "devices"});
  EXPECT_EQ(by_help.code, app::kDone);
  EXPECT_NE(by_help.out.find("usage: pando devices"), std::string::npos);
  EXPECT_EQ(run({"devices", "--help"}).out, by_help.out);
}

TEST(Program, Version) {
  const Result result = run({"--version"});
  EXPECT_EQ(result.code, app::kDone);
  EXPECT_EQ(result.out.rfind("pando ", 0), 0u);
}

TEST(Program, UnknownCommandOffersTheNearest) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"devises"}, {"help", "devises"}}) {
    const Result result = run(args);
    EXPECT_EQ(result.code, app::kUsage);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.rfind("pando: error: ", 0), 0u) << result.err;
    EXPECT_NE(result.err.find("'devices'?"), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  }
}

TEST(Program, VerboseTellsTheKindOfAnError) {
  const Result result = run({"devises", "--verbose"});
  EXPECT_NE(result.err.find("(kind: invalid argument)"), std::string::npos);
}

TEST(Program, OutputThatCannotBeWrittenIsAnError) {
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::failbit);
  const std::vector<std::string> args = {"--version"};
  EXPECT_EQ(run_program(args, out, err), app::kFailed);
  EXPECT_NE(err.str().find("standard output"), std::string::npos);
}

}  // namespace
}  // namespace pando::cli

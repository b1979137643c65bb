// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "tests/app/test_folder.h"
#include "tests/cli/run_cli.h"
#include "tests/support/expect_error.h"

namespace pando::cli {
namespace {

class ReportCommand : public testing::Test {
 protected:
  ReportCommand() {
    for (const char* name : {"a", "b"}) {
      std::filesystem::create_directory(folder_.path / name);
      folder_.write(std::string(name) + "/config.yml", "model: mnist_cnn\n");
    }
  }
  std::string path(const std::string& name) const { return (folder_.path / name).string(); }
  static Result report(std::vector<std::string> args) {
    args.insert(args.begin(), "report");
    return run(args);
  }

  app::TestFolder folder_;
};

TEST_F(ReportCommand, WritesIntoTheRunUnlessToldOtherwise) {
  const Result one = report({path("a")});
  EXPECT_EQ(one.code, app::kDone) << one.err;
  EXPECT_SAYS(one.out, path("a/report.html"));
  EXPECT_SAYS(folder_.read("a/report.html"), "<title>a · Pando</title>");
  const Result both = report({path("a"), path("b"), "-o", path("both.html")});
  EXPECT_EQ(both.code, app::kDone) << both.err;
  EXPECT_SAYS(folder_.read("both.html"), "<title>a, b · Pando</title>");
}

TEST_F(ReportCommand, RefusesWrongPlaces) {
  const auto refused = [&](const std::vector<std::string>& args) {
    const Result result = report(args);
    EXPECT_EQ(result.code, app::kUsage);
    return result.err;
  };
  EXPECT_SAYS(refused({path("none")}), "RUN", "nothing of this name");
  EXPECT_SAYS(refused({path("")}), "not the directory of a run");
  EXPECT_SAYS(refused({path("a"), "-o", path("none/x.html")}), "--output", "does not exist");
  EXPECT_SAYS(refused({path("a"), "-o", path("b")}), "--output", "expected a file");
  EXPECT_SAYS(refused({}), "RUN");
}

TEST_F(ReportCommand, HelpNamesTheFlagsThatAddParts) {
  const Result help = report({"--help"});
  EXPECT_EQ(help.code, app::kDone);
  EXPECT_SAYS(help.out, "--profile", "--report", "--output");
}

}  // namespace
}  // namespace pando::cli

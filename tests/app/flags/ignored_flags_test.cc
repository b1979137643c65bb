#include "pando/app/flags/ignored_flags.h"

#include <gtest/gtest.h>

#include "tests/app/parse_options.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using Lines = std::vector<std::string>;

TEST(IgnoredFlags, EachIsToldWithItsReason) {
  const TrainOptions options = parse(
      {"--stable-norm", "--accelerator-side-reduction", "--on-demand", "false",
       "--optimizer-state-offloading", "False", "--internal-exchange-optimization-target", "memory",
       "--max-reduce-many-buffer-size", "216", "--conv-dithering", "--gather-conv-output",
       "--min-remote-tensor-size", "64", "--scheduling-algorithm", "LOOK_AHEAD"});
  EXPECT_EQ(options.ignored.words.at("internal-exchange-optimization-target"), "memory");
  EXPECT_EQ(options.ignored.sizes.at("max-reduce-many-buffer-size"), 216);
  EXPECT_EQ(options.ignored.sizes.at("min-remote-tensor-size"), 64);
  EXPECT_EQ(options.ignored.words.at("scheduling-algorithm"), "LOOK_AHEAD");
  ASSERT_EQ(options.warnings.size(), 10u);
  EXPECT_SAYS(options.warnings[0], "--stable-norm", "ignored", "deviations", "mean");
  EXPECT_SAYS(options.warnings[1], "--accelerator-side-reduction", "ignored", "metrics");
  EXPECT_SAYS(options.warnings[9], "--scheduling-algorithm", "ignored", "graph");
}

TEST(IgnoredFlags, DefaultsOnTheCommandLineWarnToo) {
  const Lines warnings =
      parse({"--on-demand", "--min-remote-tensor-size=128", "--max-cross-replica-buffer-size=1000",
             "--scheduling-algorithm=choose_best"})
          .warnings;
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_SAYS(warnings[0], "--on-demand", "ignored");
  EXPECT_SAYS(warnings[1], "--min-remote-tensor-size", "ignored");
  EXPECT_SAYS(warnings[2], "--scheduling-algorithm", "ignored");
}

TEST(IgnoredFlags, DefaultsInAFileDoNotWarn) {
  const TestFolder folder;
  const std::string config = folder.write("config.yml", parse({}).config_text);
  EXPECT_TRUE(parse({"--config-path", config}).warnings.empty());
  const std::string changed = folder.write("changed.yml", "on-demand: false\n");
  EXPECT_EQ(parse({"--config-path", changed}).warnings.size(), 1u);
}

TEST(IgnoredFlags, WrongValuesAreRefusedAllTheSame) {
  EXPECT_SAYS(error({"--internal-exchange-optimization-target=speed"}), "unknown value 'speed'");
  EXPECT_SAYS(error({"--scheduling-algorithm=BEST"}), "did you mean 'CHOOSE_BEST'");
  EXPECT_SAYS(error({"--max-reduce-many-buffer-size=-1"}), "at least 0");
  EXPECT_SAYS(error({"--min-remote-tensor-size=-1"}), "at least 0");
  EXPECT_SAYS(error({"--stable-norm=perhaps"}), "true or false");
}

}  // namespace
}  // namespace pando::app

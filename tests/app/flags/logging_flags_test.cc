#include "pando/app/flags/logging_flags.h"

#include <gtest/gtest.h>

#include "tests/app/parse_options.h"

namespace pando::app {
namespace {

TEST(LoggingFlags, Defaults) {
  const LoggingFlags flags;
  EXPECT_TRUE(flags.tensorboard);
  EXPECT_EQ(flags.histograms_per_epoch, Fraction(0));
  EXPECT_FALSE(flags.wandb);
  EXPECT_TRUE(warnings_of(flags).empty());
}

TEST(LoggingFlags, AreReadAndChecked) {
  const TrainOptions options =
      parse({"--synthetic-data", "host", "--wandb", "--wandb-run-name", "mine", "--wandb-tags", "a",
             "b", "--histograms-per-epoch", "1/2"});
  EXPECT_TRUE(options.logging.wandb);
  EXPECT_EQ(options.logging.wandb_run_name, "mine");
  EXPECT_EQ(options.logging.wandb_tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.logging.histograms_per_epoch, Fraction(1, 2));
  EXPECT_TRUE(warnings_of(options.logging).empty());
  EXPECT_SAYS(error({"--tensorboard", "false", "--histograms-per-epoch", "2"}),
              "--histograms-per-epoch 2: ", "--tensorboard false");
  EXPECT_SAYS(error({"--histograms-per-epoch", "-1"}), "--histograms-per-epoch");
  EXPECT_SAYS(error({"--wandb-colour", "red"}), "--wandb-colour");
}

TEST(LoggingFlags, WhatHasNoEffectSaysSo) {
  LoggingFlags flags;
  flags.wandb_run_name = "mine";
  flags.wandb_tags = {"a"};
  EXPECT_EQ(warnings_of(flags),
            (std::vector<std::string>{"--wandb-run-name has no effect without --wandb",
                                      "--wandb-tags has no effect without --wandb"}));
}

}  // namespace
}  // namespace pando::app

// SPDX-License-Identifier: MIT
#include "pando/app/flags/checkpoint_flags.h"

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::app {
namespace {

using testing_support::error_of;

std::string checkpoint_error(const CheckpointFlags& flags, const std::string& run_dir = "run") {
  return error_of<UsageError>([&] { validate(flags, run_dir); });
}

TEST(CheckpointFlags, WhatExcludesEachOther) {
  const testing_support::TempFolder folder;
  const std::string weights = folder.write_text("a.h5", "x");
  EXPECT_SAYS(checkpoint_error({.resume = "auto"}, ""), "--run-dir or --checkpoint-output-dir");
  EXPECT_SAYS(checkpoint_error({.resume = folder.path("none.h5")}), "--resume", "none.h5'");
  EXPECT_SAYS(checkpoint_error({.weights = folder.path()}), "--weights");
  EXPECT_SAYS(checkpoint_error({.resume = weights, .weights = weights}), "--weights and --resume");
  EXPECT_SAYS(checkpoint_error({.per_epoch = Fraction(0), .first_epoch = Fraction(1)}),
              "--first-ckpt-epoch 1");
  validate({.output_dir = "x", .resume = "auto", .weights = weights}, "");
  validate({.resume = folder.path()}, "");
}

TEST(CheckpointFlags, TheirNumberFollowsRareLogs) {
  EXPECT_EQ(CheckpointFlags{}.request(Fraction(4)).per_epoch, Fraction(1));
  EXPECT_EQ(CheckpointFlags{}.request(Fraction(1, 3)).per_epoch, Fraction(1, 3));
  EXPECT_EQ(CheckpointFlags{}.request(Fraction(0)).per_epoch, Fraction(0));
  const CheckpointFlags given{.per_epoch = Fraction(2)};
  EXPECT_EQ(given.request(Fraction(1, 3)).per_epoch, Fraction(2));
}

TEST(CheckpointFlags, WhereTheyGo) {
  EXPECT_EQ(CheckpointFlags{}.folder("run"), "run/checkpoints");
  const CheckpointFlags given{.output_dir = "out"};
  EXPECT_EQ(given.folder("run"), "out");
}

}  // namespace
}  // namespace pando::app

#include "pando/app/flags/counterpart_flags.h"

#include <gtest/gtest.h>

#include "tests/app/parse_options.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using Lines = std::vector<std::string>;

TEST(CounterpartFlags, WhatNeedsAnotherFlagIsTold) {
  EXPECT_EQ(parse({"--available-memory-proportion", "15"}).warnings,
            (Lines{"--available-memory-proportion: no effect without --memory-per-device"}));
}

TEST(CounterpartFlags, WrongValues) {
  EXPECT_SAYS(error({"--max-cross-replica-buffer-size=-1"}), "at least 0");
  EXPECT_SAYS(error({"--available-memory-proportion=101"}), "at most 100");
  EXPECT_SAYS(error({"--available-memory-proportion=-1"}), "at least 0");
}

TEST(CounterpartFlags, MemoryProportionsGoByStages) {
  EXPECT_EQ(error({"--available-memory-proportion", "10", "20"}),
            "--available-memory-proportion: found 2 values without --pipeline-splits, wanted one");
  EXPECT_EQ(
      error({"--pipeline-splits", "conv2d_1", "--available-memory-proportion", "1", "2", "3"}),
      "--available-memory-proportion: found 3 values, wanted one, or two for each of the 2 "
      "stages (4)");
  const TrainOptions options =
      parse({"--pipeline-splits", "conv2d_1", "--available-memory-proportion", "1", "2", "3", "4",
             "--memory-per-device", "1G", "--cores-per-device", "1"});
  EXPECT_TRUE(options.warnings.empty());
  const auto gib = static_cast<double>(1 << 30);
  EXPECT_EQ(options.counterparts.scratch_limits(options.devices, options.threads),
            (std::vector<size_t>{
                static_cast<size_t>(gib * 1 / 100), static_cast<size_t>(gib * 2 / 100),
                static_cast<size_t>(gib * 3 / 100), static_cast<size_t>(gib * 4 / 100)}));
}

TEST(CounterpartFlags, ScratchMemoryIsSharedByTheWorkers) {
  const TrainOptions options = parse(
      {"--available-memory-proportion", "50", "--memory-per-device", "1000", "--threads", "2"});
  EXPECT_EQ(options.counterparts.scratch_limits(options.devices, options.threads),
            (std::vector<size_t>{250}));
  const TrainOptions free = parse({"--available-memory-proportion", "50"});
  EXPECT_TRUE(free.counterparts.scratch_limits(free.devices, free.threads).empty());
}

TEST(CounterpartFlags, WhatNeedsSeveralProcessesIsOff) {
  const TrainOptions options = parse({"--ckpt-all-instances"});
  EXPECT_FALSE(options.counterparts.ckpt_all_instances);
  EXPECT_EQ(options.warnings, (Lines{"--ckpt-all-instances is for several processes: off"}));
  EXPECT_SAYS(options.config_text, "# off: one process");
}

TEST(CounterpartFlags, CompileOnlyTurnsOnDemandOff) {
  EXPECT_TRUE(parse({"--compile-only"}).warnings.empty());
  const TrainOptions options = parse({"--compile-only", "--on-demand"});
  EXPECT_FALSE(options.ignored.switches.at("on-demand"));
  EXPECT_EQ(options.warnings.front(), "--on-demand: off by --compile-only");
}

TEST(CounterpartFlags, DeterministicKeepsTheOrderOfData) {
  const TrainOptions options = parse({"--deterministic", "--shuffle"});
  EXPECT_FALSE(options.data.shuffle);
  ASSERT_EQ(options.warnings.size(), 1u);
  EXPECT_SAYS(options.warnings[0], "--deterministic: --shuffle is off");
  EXPECT_SAYS(options.config_text, "# off by --deterministic");
  EXPECT_TRUE(parse({"--deterministic", "--no-shuffle"}).warnings.empty());
}

}  // namespace
}  // namespace pando::app

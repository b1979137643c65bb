#include "pando/app/flags/silicon_flags.h"

#include <gtest/gtest.h>

#include "tests/app/parse_options.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using Lines = std::vector<std::string>;

TEST(SiliconFlags, AllThatHaveNoEffectStandOnOneLine) {
  const TrainOptions options =
      parse({"--on-demand", "false", "--optimizer-state-offloading", "False",
             "--internal-exchange-optimization-target", "memory", "--max-reduce-many-buffer-size",
             "216", "--conv-dithering", "--gather-conv-output", "--min-remote-tensor-size", "64",
             "--scheduling-algorithm", "LOOK_AHEAD", "--available-memory-proportion", "15"});
  EXPECT_EQ(options.silicon.internal_exchange_optimization_target, ExchangeTarget::memory);
  EXPECT_EQ(options.silicon.max_reduce_many_buffer_size, 216);
  EXPECT_EQ(options.silicon.min_remote_tensor_size, 64);
  EXPECT_EQ(options.silicon.scheduling_algorithm, SchedulingAlgorithm::look_ahead);
  EXPECT_EQ(options.warnings,
            (Lines{"--on-demand, --optimizer-state-offloading, "
                   "--internal-exchange-optimization-target, --max-reduce-many-buffer-size, "
                   "--conv-dithering, --gather-conv-output, --min-remote-tensor-size, "
                   "--scheduling-algorithm, --available-memory-proportion (without "
                   "--memory-per-device): no effect on a CPU"}));
}

TEST(SiliconFlags, DefaultsAreNothingToTell) {
  EXPECT_TRUE(parse({"--on-demand", "--min-remote-tensor-size=128",
                     "--max-cross-replica-buffer-size=1000", "--scheduling-algorithm=choose_best"})
                  .warnings.empty());
  const TestFolder folder;
  const std::string config = folder.write("config.yml", parse({}).config_text);
  EXPECT_TRUE(parse({"--config-path", config}).warnings.empty());
}

TEST(SiliconFlags, WrongValues) {
  EXPECT_SAYS(error({"--internal-exchange-optimization-target=speed"}), "unknown value 'speed'");
  EXPECT_SAYS(error({"--scheduling-algorithm=BEST"}), "did you mean 'CHOOSE_BEST'");
  EXPECT_SAYS(error({"--max-cross-replica-buffer-size=-1"}), "at least 0");
  EXPECT_SAYS(error({"--max-reduce-many-buffer-size=-1"}), "at least 0");
  EXPECT_SAYS(error({"--min-remote-tensor-size=-1"}), "at least 0");
  EXPECT_SAYS(error({"--available-memory-proportion=101"}), "at most 100");
  EXPECT_SAYS(error({"--available-memory-proportion=-1"}), "at least 0");
}

TEST(SiliconFlags, MemoryProportionsGoByStages) {
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
  EXPECT_EQ(options.silicon.scratch_limits(options.devices, options.threads),
            (std::vector<size_t>{
                static_cast<size_t>(gib * 1 / 100), static_cast<size_t>(gib * 2 / 100),
                static_cast<size_t>(gib * 3 / 100), static_cast<size_t>(gib * 4 / 100)}));
}

TEST(SiliconFlags, ScratchMemoryIsSharedByTheWorkers) {
  const TrainOptions options = parse(
      {"--available-memory-proportion", "50", "--memory-per-device", "1000", "--threads", "2"});
  EXPECT_EQ(options.silicon.scratch_limits(options.devices, options.threads),
            (std::vector<size_t>{250}));
  const TrainOptions free = parse({"--available-memory-proportion", "50"});
  EXPECT_TRUE(free.silicon.scratch_limits(free.devices, free.threads).empty());
}

TEST(SiliconFlags, WhatNeedsSeveralProcessesIsOff) {
  const TrainOptions options = parse({"--accelerator-side-reduction", "--ckpt-all-instances"});
  EXPECT_FALSE(options.silicon.accelerator_side_reduction);
  EXPECT_FALSE(options.silicon.ckpt_all_instances);
  EXPECT_EQ(options.warnings, (Lines{"--accelerator-side-reduction is for several processes: off",
                                     "--ckpt-all-instances is for several processes: off"}));
  EXPECT_SAYS(options.config_text, "# off: one process");
}

TEST(SiliconFlags, CompileOnlyTurnsOnDemandOff) {
  EXPECT_TRUE(parse({"--compile-only"}).warnings.empty());
  const TrainOptions options = parse({"--compile-only", "--on-demand"});
  EXPECT_FALSE(options.silicon.on_demand);
  EXPECT_EQ(options.warnings.front(), "--on-demand: off by --compile-only");
}

TEST(SiliconFlags, DeterministicKeepsTheOrderOfData) {
  const TrainOptions options = parse({"--deterministic", "--shuffle"});
  EXPECT_FALSE(options.data.shuffle);
  ASSERT_EQ(options.warnings.size(), 1u);
  EXPECT_SAYS(options.warnings[0], "--deterministic: --shuffle is off");
  EXPECT_SAYS(options.config_text, "# off by --deterministic");
  EXPECT_TRUE(parse({"--deterministic", "--no-shuffle"}).warnings.empty());
}

}  // namespace
}  // namespace pando::app

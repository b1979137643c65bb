#include "pando/app/flags/device_flags.h"

#include "tests/app/parse_options.h"
#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

TEST(DeviceFlags, WhatExcludesEachOther) {
  EXPECT_THROW(parse({"--steps-per-execution", "4", "--logs-per-epoch", "2"}), UsageError);
  EXPECT_THROW(parse({"--trace", "t.json", "--dry-run"}), UsageError);
  EXPECT_THROW(parse({"--trace", "t.json", "--verify"}), UsageError);
  EXPECT_THROW(parse({"--profile", "reports", "--dry-run"}), UsageError);
  EXPECT_THROW(parse({"--profile", "reports", "--verify"}), UsageError);
}

TEST(DeviceFlags, GradientsMayTravelInHalfTheBytes) {
  EXPECT_EQ(parse({}).devices.exchange_format, comm::WireFormat::f32);
  EXPECT_EQ(parse({"--exchange-format=f16"}).devices.exchange_format, comm::WireFormat::f16);
  EXPECT_EQ(parse({"--exchange-format=bf16"}).devices.exchange_format, comm::WireFormat::bf16);
  EXPECT_SAYS(error({"--exchange-format=f8"}), "f32, f16, bf16");
}

TEST(DeviceFlags, EveryFlagReachesItsField) {
  const TrainOptions o = parse({"--num-replicas",
                                "2",
                                "--gradient-accumulation",
                                "4",
                                "--gradient-reduction",
                                "running_mean",
                                "--pipeline-splits",
                                "conv2d_1",
                                "dense",
                                "--device-mapping",
                                "0",
                                "1",
                                "0",
                                "--pipeline-schedule",
                                "Interleaved",
                                "--recomputation",
                                "--memory-per",
                                "512M",
                                "--cores-per-device",
                                "3",
                                "--pipeline-validation-model",
                                "--steps-per-execution",
                                "16",
                                "--weight-updates-per-epoch",
                                "9",
                                "--prefetch-depth",
                                "7",
                                "--trace",
                                "t.json"});
  EXPECT_EQ(o.devices.num_replicas, 2);
  EXPECT_EQ(o.devices.gradient_accumulation_count, 4);
  EXPECT_EQ(o.devices.gradient_reduction, GradientReduction::running_mean);
  EXPECT_EQ(o.devices.pipeline_splits, (std::vector<std::string>{"conv2d_1", "dense"}));
  EXPECT_EQ(o.devices.device_mapping, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(o.devices.pipeline_schedule, PipelineSchedule::interleaved);
  EXPECT_EQ(o.devices.recomputation, RecomputationFlag::automatic);
  EXPECT_EQ(o.devices.memory_per_device.bytes, int64_t{512} << 20);
  EXPECT_TRUE(o.devices.pipeline_validation_model);
  EXPECT_EQ(o.steps_per_execution, 16);
  EXPECT_EQ(o.weight_updates_per_epoch, 9);
  EXPECT_EQ(parse({"--logs-per-epoch", "1/3"}).logs_per_epoch, Fraction(1, 3));
  EXPECT_EQ(o.prefetch_depth, 7);
  EXPECT_EQ(o.trace, "t.json");
  EXPECT_EQ(o.slices, 3);
  EXPECT_EQ(
      parse({"--num-replicas=2", "--dbn-replica-group-size=2"}).devices.dbn_replica_group_size, 2);
  EXPECT_EQ(parse({"--core-sets=0"}).devices.core_sets, "0");
}

TEST(DeviceFlags, CountStagesAndDevices) {
  EXPECT_EQ(parse({}).devices.devices(), 1);
  EXPECT_EQ(parse({"--pipeline-splits=a,b", "--num-replicas=3"}).devices.devices(), 9);
  const DeviceFlags mapped =
      parse({"--pipeline-splits=a,b", "--device-mapping=1,0,1", "--num-replicas=3"}).devices;
  EXPECT_EQ(mapped.stages(), 3);
  EXPECT_EQ(mapped.devices_per_replica(), 2);
  EXPECT_EQ(mapped.devices(), 6);
  EXPECT_EQ(mapped.strategy(0).devices, 6);
  EXPECT_EQ(parse({"--pipeline-splits=auto"}).devices.stages(), 2);
  EXPECT_EQ(parse({"--pipeline-splits=auto", "--pipeline-stages=4"}).devices.stages(), 4);
  EXPECT_EQ(parse({"--pipeline-splits=auto", "--device-mapping=0,1,0"}).devices.stages(), 3);
}

TEST(DeviceFlags, TheLearningRateFollowsTheGlobalBatch) {
  const TrainOptions options =
      parse({"--batch-size=16", "--num-replicas=2", "--gradient-accumulation-count=4"});
  EXPECT_EQ(options.schedule.learning_rate, 0.02);
  EXPECT_EQ(options.devices.batch(16).global_batch_size, 128);
  EXPECT_EQ(parse({"--batch-size=16", "--global-batch-size=256"}).schedule.learning_rate, 0.04);
}

TEST(DeviceFlags, RecomputationIsASwitchOrAWay) {
  const auto chosen = [](std::vector<std::string> args) {
    args.push_back("--pipeline-splits=a");
    return parse(args).devices.pipelining(1).recomputation;
  };
  EXPECT_EQ(chosen({}), Recomputation::none);
  EXPECT_EQ(chosen({"--recomputation", "--quiet"}), Recomputation::then_backward);
  EXPECT_EQ(chosen({"--recomputation=yes"}), Recomputation::then_backward);
  EXPECT_EQ(chosen({"--recomputation=off"}), Recomputation::none);
  EXPECT_EQ(chosen({"--no-recomputation"}), Recomputation::none);
  EXPECT_EQ(chosen({"--recomputation", "--pipeline-schedule=SEQUENTIAL"}),
            Recomputation::interleaved);
  EXPECT_EQ(chosen({"--recomputation=Interleaved"}), Recomputation::interleaved);
  EXPECT_EQ(chosen({"--recomputation=then_backward", "--pipeline-schedule=sequential"}),
            Recomputation::then_backward);
}

TEST(DeviceFlags, ReachTheModelsOptions) {
  const PipeliningOptions options =
      parse({"--pipeline-splits=a", "--device-mapping=0,0", "--pipeline-schedule=sequential",
             "--gradient-reduction=sum"})
          .devices.pipelining(5);
  EXPECT_EQ(options.gradient_accumulation_steps_per_replica, 5);
  EXPECT_EQ(options.device_mapping, (std::vector<int>{0, 0}));
  EXPECT_EQ(options.schedule, PipelineSchedule::sequential);
  EXPECT_EQ(options.reduction, GradientReduction::sum);
  EXPECT_FALSE(options.pipelined_inference);
  const DeviceStrategyOptions strategy =
      parse({"--num-replicas=2", "--core-sets=0;0", "--memory-per-device=1K"}).devices.strategy(0);
  EXPECT_EQ(strategy.core_sets, (std::vector<std::vector<int>>{{0}, {0}}));
  EXPECT_EQ(strategy.memory_per_device, 1024);
  EXPECT_EQ(parse({"--threads=3"}).devices.strategy(3).cores_per_device, 3);
}

TEST(DeviceFlags, WhatDoesNotFitTogetherIsNamed) {
  using Words = std::vector<std::string>;
  const std::vector<std::pair<Words, Words>> cases = {
      {{"--gradient-accumulation-count=2", "--global-batch-size=64"},
       {"--gradient-accumulation-count 2", "--global-batch-size 64", "remove one"}},
      {{"--pipeline-splits=a", "--device-mapping=0,1,2"},
       {"--device-mapping: expected 2", "(--pipeline-splits has 1)", "got 3"}},
      {{"--device-mapping=0,1"},
       {"--device-mapping: expected 1", "(--pipeline-splits has 0)", "got 2"}},
      {{"--pipeline-splits=a,b", "--device-mapping=0,2,3"},
       {"--device-mapping: ", "from 0 to 3", "device 1 "}},
      {{"--recomputation"}, {"--recomputation: ", "--pipeline-splits"}},
      {{"--pipeline-splits=auto,conv2d"}, {"--pipeline-splits: ", "'auto'", "2 names"}},
      {{"--pipeline-stages=3"}, {"--pipeline-stages 3: ", "--pipeline-splits auto"}},
      {{"--pipeline-splits=auto", "--pipeline-stages=1"},
       {"--pipeline-stages: expected at least 2", "got 1", "--pipeline-splits"}},
      {{"--num-replicas=4", "--dbn-replica-group-size=3"},
       {"--dbn-replica-group-size: ", "--num-replicas 4", "got 3"}},
      {{"--num-replicas=2", "--dbn-replica-group-size=2", "--pipeline-splits=a"},
       {"--dbn-replica-group-size 2: ", "one device per replica", "got 2"}},
      {{"--threads=2", "--num-replicas=2"}, {"--threads 2: ", "--cores-per-device"}},
      {{"--threads=2", "--pipeline-splits=a", "--device-mapping=0,0"},
       {"--threads 2: ", "--cores-per-device"}},
      {{"--threads=2", "--cores-per-device=2"},
       {"--threads 2: ", "--cores-per-device", "--core-sets"}},
      {{"--core-sets=0", "--cores-per-device=1"}, {"--core-sets: ", "--cores-per-device"}},
      {{"--core-sets=0;0"}, {"--core-sets: ", "1 replicas x 1 = 1", "got 2"}},
      {{"--num-replicas=1024", "--pipeline-splits=a"},
       {"--num-replicas 1024: ", "at most 1024 devices", "2 devices each"}},
      {{"--weight-updates-per-epoch=0"},
       {"--weight-updates-per-epoch: expected at least 1", "-1", "got 0"}},
      {{"--batch-size=1", "--global-batch-size=100000000"},
       {"--global-batch-size 100000000: ", "at most 16777216", "got 100000000"}},
      {{"--trace=/absent/t.json"}, {"--trace: ", "'/absent/t.json'"}},
      {{"--trace=/"}, {"--trace: ", "'/'"}},
      {{"--profile=/dev/null"}, {"--profile: ", "'/dev/null'"}},
  };
  for (const auto& [args, parts] : cases) {
    const std::string message = error(args);
    for (const std::string& part : parts) EXPECT_SAYS(message, part);
  }
  EXPECT_EQ(error({"--core-sets=a"}).rfind("--core-sets: ", 0), 0u);
  EXPECT_EQ(error({"--core-sets=99999"}).rfind("--core-sets: ", 0), 0u);
}

TEST(DeviceFlags, TheLimitOfDevicesIsThatOfAnInstance) {
  EXPECT_SAYS(error({"--num-replicas=1025"}), "--num-replicas 1025: ", "at most 1024 devices",
              "1 device each");
  DeviceFlags flags = parse({"--num-replicas=1024"}).devices;
  flags.num_replicas = 8192;
  flags.instances = 8;
  EXPECT_NO_THROW(validate(flags, 0));
  flags.instances = 4;
  EXPECT_THROW(validate(flags, 0), UsageError);
}

TEST(DeviceFlags, WrongValuesAreRefusedByName) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"num-replicas", {"0", "-1", "1048577", "two", ""}},
      {"gradient-accumulation-count", {"0", "-1", "1.5", "x", ""}},
      {"global-batch-size", {"0", "-64", "x", ""}},
      {"gradient-reduction", {"average", "", "0"}},
      {"dbn-replica-group-size", {"0", "-1", "x"}},
      {"pipeline-stages", {"-1", "x", "1025"}},
      {"device-mapping", {"-1", "a", "0,x", "0.5"}},
      {"pipeline-schedule", {"group", "", "1"}},
      {"recomputation", {"maybe", "2", ""}},
      {"pipeline-validation-model", {"maybe", "2"}},
      {"cores-per-device", {"-1", "5000", "x"}},
      {"memory-per-device", {"-1", "x", "1.5G", "12X", ""}},
      {"steps-per-execution", {"-1", "x", "1.5"}},
      {"weight-updates-per-epoch", {"-2", "x"}},
      {"logs-per-epoch", {"-1", "x", "1/0"}},
      {"prefetch-depth", {"0", "-1", "x"}},
  };
  for (const auto& [flag, values] : cases) {
    for (const std::string& value : values) {
      const std::string message = error({"--" + flag + "=" + value});
      EXPECT_EQ(message.rfind("--" + flag, 0), 0u) << flag << "=" << value << ": " << message;
    }
  }
}

TEST(DeviceFlags, TheRecordedConfigurationHasThem) {
  const TestFolder folder;
  const TrainOptions first = parse({"--num-replicas=2", "--pipeline-splits=conv2d_1",
                                    "--recomputation", "--memory-per-device=3M",
                                    "--logs-per-epoch=1/3", "--trace=t.json", "--profile=reports"});
  EXPECT_EQ(first.trace, "t.json");
  const TrainOptions again =
      parse({"--config-path", folder.write("config.yml", first.config_text)});
  EXPECT_EQ(again.devices.num_replicas, 2);
  EXPECT_EQ(again.devices.pipeline_splits, first.devices.pipeline_splits);
  EXPECT_EQ(again.devices.recomputation, RecomputationFlag::automatic);
  EXPECT_EQ(again.devices.memory_per_device.bytes, 3 << 20);
  EXPECT_EQ(again.logs_per_epoch, Fraction(1, 3));
  EXPECT_EQ(again.profile, "");
  EXPECT_EQ(again.trace, "");  // where a run wrote is not part of it
}

}  // namespace
}  // namespace pando::app

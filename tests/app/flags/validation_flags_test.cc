#include "pando/app/flags/validation_flags.h"

#include <gtest/gtest.h>

#include "pando/runtime/machine/device_set.h"
#include "tests/app/parse_options.h"

namespace pando::app {
namespace {

TEST(ValidationFlags, Defaults) {
  const TrainOptions options = parse({});
  const ValidationFlags& phases = options.phases;
  EXPECT_TRUE(phases.training && phases.validates_during());
  EXPECT_FALSE(phases.sweep || phases.mlperf_logging || phases.has_target());
  EXPECT_FALSE(phases.test_time_flip);
  EXPECT_TRUE(parse({"--test-time-flip"}).phases.test_time_flip);
  EXPECT_EQ(phases.target_accuracy, 0.759);
  EXPECT_EQ(phases.micro_batch_size(64), 64);
  EXPECT_EQ(phases.replicas(options.devices), 1);
}

TEST(ValidationFlags, AreRead) {
  const TrainOptions options = parse({"--training", "False", "--validation-micro-batch-size", "108",
                                      "--validation-num-replicas", "3", "--sweep",
                                      "--target-accuracy", "0.9", "--mlperf-logging", "true"});
  const ValidationFlags& phases = options.phases;
  EXPECT_FALSE(phases.training);
  EXPECT_EQ(phases.micro_batch_size(64), 108);
  EXPECT_EQ(phases.replicas(options.devices), 3);
  EXPECT_TRUE(phases.sweep && phases.mlperf_logging && phases.has_target());
  EXPECT_EQ(phases.target_accuracy, 0.9);
  EXPECT_TRUE(parse({"--target-accuracy=0.5"}).phases.has_target());
  EXPECT_TRUE(parse({"--sweep"}).phases.has_target());
}

// Pipelined: the replicas of training; otherwise one on each of their devices.
TEST(ValidationFlags, ReplicasFollowFromTraining) {
  const auto replicas = [](const std::vector<std::string>& args) {
    const TrainOptions options = parse(args);
    return options.phases.replicas(options.devices);
  };
  EXPECT_EQ(replicas({"--num-replicas=3"}), 3);
  EXPECT_EQ(replicas({"--num-replicas=3", "--pipeline-splits=a,b"}), 9);
  EXPECT_EQ(replicas({"--num-replicas=3", "--pipeline-splits=a,b", "--pipeline-validation-model"}),
            3);
  EXPECT_EQ(replicas({"--num-replicas=3", "--pipeline-splits=a,b", "--device-mapping=0,0,1"}), 6);
}

TEST(ValidationFlags, DevicesOfARunThatOnlyValidatesFollowItsReplicas) {
  const auto devices = [](const std::vector<std::string>& args) {
    const TrainOptions options = parse(args);
    return options.phases.strategy(options.devices, 0).devices;
  };
  EXPECT_EQ(devices({"--num-replicas=4", "--validation-num-replicas=2"}), 4);
  EXPECT_EQ(devices({"--num-replicas=4", "--validation-num-replicas=2", "--training=no"}), 2);
  EXPECT_EQ(devices({"--validation-num-replicas=3", "--training=no"}), 3);
  EXPECT_EQ(devices({"--validation-num-replicas=3", "--training=no", "--pipeline-splits=a",
                     "--pipeline-validation-model"}),
            6);
  EXPECT_EQ(devices({"--num-replicas=2", "--core-sets=0;0", "--validation-num-replicas=1",
                     "--training=no"}),
            2);
}

TEST(ValidationFlags, ThatDoNotFitTogetherAreRefused) {
  EXPECT_SAYS(error({"--training", "False", "--validation", "False"}), "--training false",
              "--validation false");
  EXPECT_SAYS(error({"--sweep", "--no-validation"}), "--sweep", "--validation false");
  EXPECT_SAYS(error({"--num-replicas=2", "--validation-num-replicas=3"}),
              "--validation-num-replicas", "at most 2", "got 3", "--training false");
  EXPECT_SAYS(error({"--num-replicas=2", "--pipeline-splits=a", "--pipeline-validation-model",
                     "--validation-num-replicas=3"}),
              "4 devices of the run", "2 devices each", "at most 2");
  EXPECT_SAYS(error({"--training=no", "--num-replicas=2", "--core-sets=0;0",
                     "--validation-num-replicas=3"}),
              "2 devices of the run", "1 device each", "at most 2");
  EXPECT_SAYS(error({"--training=no", "--pipeline-splits=a", "--pipeline-validation-model",
                     "--validation-num-replicas=" + std::to_string(runtime::kMostDevices)}),
              "devices that a run may have");
  EXPECT_SAYS(error({"--checkpoint-input-dir=/absent"}), "--checkpoint-input-dir", "'/absent'",
              "epoch_<number>.h5");
  EXPECT_SAYS(error({"--checkpoint-input-dir=/", "--validation=no"}), "--checkpoint-input-dir",
              "--validation false");
  EXPECT_SAYS(error({"--clean-dir", "--validation=no"}), "--clean-dir");
  EXPECT_SAYS(error({"--clean-dir", "--training=no"}), "--clean-dir", "trains and validates");
  EXPECT_SAYS(error({"--keep-best", "--validation=no"}), "--keep-best");
  EXPECT_SAYS(error({"--keep-best", "--training=no"}), "--keep-best", "validates");
  EXPECT_SAYS(error({"--keep-best", "--ckpts-per-epoch=0"}), "--keep-best", "--ckpts-per-epoch 0");
  EXPECT_SAYS(error({"--keep-best", "--checkpoint-input-dir=."}), "--keep-best",
              "--checkpoint-input-dir");
  EXPECT_SAYS(error({"--validation=no", "--validate-during-training"}),
              "--validate-during-training", "--validation false");
  for (const char* flag :
       {"--resume=/", "--dry-run", "--verify", "--trace=t.json", "--profile=reports"}) {
    const std::string name = std::string(flag).substr(0, std::string(flag).find('='));
    EXPECT_SAYS(error({"--training=no", flag}), name + ": requires training", "--training false");
  }
}

TEST(ValidationFlags, NumbersAreChecked) {
  EXPECT_SAYS(error({"--validation-micro-batch-size=0"}), "--validation-micro-batch-size");
  EXPECT_SAYS(error({"--validation-num-replicas=0"}), "--validation-num-replicas");
  EXPECT_SAYS(error({"--target-accuracy=75.9"}), "--target-accuracy");
  EXPECT_SAYS(error({"--target-accuracy=0"}), "--target-accuracy");
  EXPECT_SAYS(error({"--training=maybe"}), "--training");
}

TEST(ValidationFlags, SayWhen) {
  const auto when = [](const std::vector<std::string>& args) {
    return parse(args).phases.validation;
  };
  EXPECT_EQ(when({}), ValidationTime::during);
  EXPECT_EQ(when({"--validation"}), ValidationTime::during);
  EXPECT_EQ(when({"--validation", "true"}), ValidationTime::during);
  EXPECT_EQ(when({"--validation", "during"}), ValidationTime::during);
  EXPECT_EQ(when({"--validation=After"}), ValidationTime::after);
  EXPECT_EQ(when({"--no-validation"}), ValidationTime::off);
  EXPECT_EQ(when({"--validation=off"}), ValidationTime::off);
  EXPECT_EQ(when({"--validate-during-training"}), ValidationTime::during);
  EXPECT_EQ(when({"--validation", "after", "--validate-during-training"}), ValidationTime::during);
  // Files of runs from before there was a choice: validation true and this false.
  EXPECT_EQ(when({"--validation", "--validate-during-training=false"}), ValidationTime::after);
  EXPECT_SAYS(error({"--validation=later"}), "--validation", "later", "after", "during");
}

// Checkpoints of another folder are measured after training.
TEST(ValidationFlags, AnotherFolderIsValidatedAfterTraining) {
  EXPECT_FALSE(parse({"--checkpoint-input-dir=/"}).phases.validates_during());
  EXPECT_FALSE(parse({"--validation=after"}).phases.validates_during());
}

TEST(ValidationFlags, TheConfigurationNamesTheTime) {
  EXPECT_SAYS(parse({}).config_text, "validation: during");
  EXPECT_SAYS(parse({"--validate-during-training=false"}).config_text, "validation: after",
              "validate-during-training: ~");
}

TEST(ValidationFlags, AnotherInputFolderBesideTrainingIsWarnedAbout) {
  const auto warnings = [](const std::vector<std::string>& args) {
    return join(parse(args).warnings, "\n");
  };
  EXPECT_SAYS(warnings({"--checkpoint-input-dir=/"}), "--checkpoint-input-dir", "not those");
  EXPECT_EQ(warnings({"--checkpoint-input-dir=/", "--training=false"}), "");
  // The original validates what it trained only if both flags name one folder.
  const std::vector<std::string> same = {"--checkpoint-input-dir=/none/x/",
                                         "--checkpoint-output-dir=/none/./x", "--keep-best"};
  EXPECT_EQ(warnings(same), "");
  EXPECT_EQ(parse(same).phases.checkpoint_input_dir, "");
}

}  // namespace
}  // namespace pando::app

#include "pando/app/flags/deciding_options.h"

#include <set>

#include "tests/app/parse_options.h"

namespace pando::app {
namespace {

std::string decided_by(const std::vector<std::string>& args) {
  return to_yaml(deciding_options(parse(args)));
}

TEST(DecidingOptions, EveryOptionCountsUnlessItSaysOtherwise) {
  TrainOptions options;
  OptionTable table;
  add_train_options(table, options);
  const ConfigValue deciding = deciding_options(options);
  for (const Option& option : table.options()) {
    const bool counts = option.effect != Effect::none && option.counted_as.empty();
    EXPECT_EQ(deciding.find(option.name) != nullptr, counts) << option.name;
  }
}

// A change of this list is a change of what a resumed run may change in silence.
TEST(DecidingOptions, WhatDoesNotChangeResultsIsKnown) {
  TrainOptions options;
  OptionTable table;
  add_train_options(table, options);
  const std::set<std::string> whole_groups = {
      "Executions", "Phases and validation", "Checkpoints", "Early stopping", "Records",
      "Output",     "Ignored flags"};
  std::set<std::string> others;
  for (const Option& option : table.options()) {
    if (whole_groups.contains(option.group)) {
      EXPECT_EQ(option.effect, Effect::none) << option.name;
    } else if (option.effect == Effect::none) {
      others.insert(option.name);
    }
  }
  EXPECT_EQ(others, (std::set<std::string>{"ckpt-all-instances",
                                           "compile-only",
                                           "compile-report",
                                           "core-sets",
                                           "cores-per-device",
                                           "device-mapping",
                                           "download",
                                           "dump-ir",
                                           "feature-cache",
                                           "fp-exceptions",
                                           "max-cross-replica-buffer-size",
                                           "memory-limit",
                                           "num-epochs",
                                           "pipeline-num-parallel",
                                           "pipeline-schedule",
                                           "pipeline-validation-model",
                                           "recomputation",
                                           "test-samples",
                                           "threads",
                                           "verify"}));
}

TEST(DecidingOptions, SpellingsOfTheSameRunAreTheSame) {
  const std::string plain = decided_by({});
  EXPECT_SAYS(plain, "momentum: 0.9", "nesterov: false", "learning-rate: 0.01");
  EXPECT_EQ(decided_by({"--optimizer-params={momentum: 0.9}"}), plain);
  EXPECT_EQ(decided_by({"--learning-rate=0.01"}), plain);
  EXPECT_EQ(decided_by({"--lr-schedule-params={initial_learning_rate: 1.5625e-4}"}), plain);
  EXPECT_EQ(decided_by({"--label-smoothing=0"}), plain);
  EXPECT_EQ(decided_by({"--gradient-accumulation-count=2", "--learning-rate=0.01"}),
            decided_by({"--global-batch-size=128", "--learning-rate=0.01"}));
  const std::string size = "--image-size=224";
  EXPECT_EQ(decided_by({"--model=resnet18", "--synthetic-data=host", size}),
            decided_by({"--model=resnet18", "--synthetic-data=host"}));
}

TEST(DecidingOptions, ParametersInEffectDiffer) {
  const std::string plain = decided_by({});
  for (const std::string other :
       {"--optimizer-params={momentum: 0.8}", "--optimizer-params={nesterov: true}",
        "--learning-rate=0.010000000000000002",
        "--lr-warmup-params={warmup_mode: mask, "
        "warmup_epochs: 1}",
        "--lr-staircase", "--gradient-reduction=sum", "--shuffle=false",
        "--accelerator-side-preprocess", "--norm-layer={name: custom_batch_norm, momentum: 0.5}",
        "--disable-pass=fuse-post-ops", "--nanoo", "--seed=3"}) {
    EXPECT_NE(decided_by({other}), plain) << other;
  }
  EXPECT_NE(decided_by({"--optimizer=adam", "--optimizer-params={beta_1: 0.8}"}),
            decided_by({"--optimizer=adam"}));
  EXPECT_NE(decided_by({"--optimizer=adam", "--optimizer-params={epsilon: 1e-3}"}),
            decided_by({"--optimizer=adam"}));
}

TEST(DecidingOptions, ACheckpointRecordsThem) {
  TrainingState state;
  state.notes[kOptionsNote] = decided_by({"--slices=2"});
  const auto differences = [&](const std::vector<std::string>& args) {
    std::vector<std::string> found;
    compare_options(parse(args), state, [&](const OptionDifference& one) {
      found.push_back(concat(one.option.name, " ", one.recorded, " ", one.now));
    });
    return found;
  };
  EXPECT_TRUE(differences({"--slices=2"}).empty());
  EXPECT_EQ(differences({"--slices=1", "--weight-decay=0.5"}),
            (std::vector<std::string>{"weight-decay 0 0.5", "slices 2 1"}));
  state.notes[kOptionsNote] = "{slices: 2}";  // as if all others were newer than the checkpoint
  EXPECT_EQ(differences({"--slices=2", "--winograd=2", "--weight-decay=0.5"}),
            (std::vector<std::string>{"weight-decay 0 0.5"}));
  EXPECT_EQ(differences({"--slices=2"}), (std::vector<std::string>{"winograd 2 4"}));
  state.notes = {{"model", "toy_model"}, {"precision", "16.16, stochastic rounding on"}};
  EXPECT_EQ(differences({"--slices=2", "--weight-decay=0.5"}),
            (std::vector<std::string>{"model toy_model mnist_cnn", "precision 16.16 32.32"}));
}

}  // namespace
}  // namespace pando::app

// The flags of early stopping, and runs that end by them.
// SPDX-License-Identifier: MIT
#include "pando/app/flags/early_stopping_flags.h"

#include <gtest/gtest.h>

#include "pando/app/record/history_writer.h"
#include "pando/zoo/task.h"
#include "tests/app/parse_options.h"
#include "tests/app/training_run_fixture.h"

namespace pando::app {
namespace {

TEST(EarlyStoppingFlags, AreReadAndChecked) {
  EXPECT_FALSE(parse({"--synthetic-data", "host"}).early_stopping.on());
  const TrainOptions options =
      parse({"--synthetic-data", "host", "--early-stopping", "val_accuracy", "--patience", "3",
             "--min-delta", "0.01", "--restore-best", "--validate-during-training"});
  EXPECT_EQ(options.early_stopping.monitor, "val_accuracy");
  EXPECT_EQ(options.early_stopping.patience, 3);
  EXPECT_EQ(options.early_stopping.min_delta, 0.01);
  EXPECT_TRUE(options.early_stopping.restore_best);
  EXPECT_SAYS(error({"--early-stopping", "val_loss", "--validation", "after"}),
              "--early-stopping val_loss", "--validation during");
  EXPECT_SAYS(error({"--early-stopping", "losss"}), "losss");
  EXPECT_SAYS(error({"--patience", "2"}), "--patience: ", "--early-stopping");
  EXPECT_SAYS(error({"--min-delta", "2"}), "--min-delta: ", "--early-stopping");
  EXPECT_SAYS(error({"--restore-best"}), "--restore-best: ", "--early-stopping");
  EXPECT_SAYS(error({"--early-stopping", "loss", "--patience", "-1"}), "--patience");
}

class EarlyStoppingRun : public TrainingRunTest {};

TEST_F(EarlyStoppingRun, EndsTheRunAndSavesTheBestWeights) {
  TrainOptions options = this->options("run");
  options.num_epochs = 9;
  options.phases.validation = ValidationTime::during;
  options.early_stopping.monitor = "val_loss";
  options.early_stopping.min_delta = 100;  // only the first epoch is an improvement
  options.early_stopping.patience = 2;
  options.early_stopping.restore_best = true;
  ASSERT_EQ(run_training(options), 0);
  const std::string log = folder_.read("run/log.txt");
  EXPECT_SAYS(log, "early stopping after epoch 3: val_loss was ");
  EXPECT_SAYS(log, "restored the weights of epoch 1");
  EXPECT_SAYS(log, "validated last, as the result: epoch 1.0");
  // Measured once; the best epoch is the result.
  const size_t first = log.find("validation epoch 1.0: ");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(log.find("validation epoch 1.0: ", first + 1), std::string::npos);
  const std::string line = log.substr(first, log.find('\n', first) - first);
  const std::string loss = line.substr(line.find("loss: ") + 6);
  EXPECT_SAYS(log, "\ntest loss: " + loss + ",");
  EXPECT_TRUE(std::filesystem::exists(folder_.path / "run/best_epoch.h5"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path / "run/checkpoints/epoch_3.0.h5"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "run/checkpoints/epoch_4.0.h5"));
}

TEST_F(EarlyStoppingRun, TheBestWeightsAreTheResultAlsoWithoutACheckpoint) {
  TrainOptions options = this->options("run");
  options.num_epochs = 2;
  options.checkpoints.per_epoch = Fraction(1, 2);  // only of the last epoch
  options.checkpoints.keep_best = true;
  options.phases.clean_dir = true;
  options.early_stopping.monitor = "loss";
  options.early_stopping.min_delta = 100;
  options.early_stopping.patience = 5;
  options.early_stopping.restore_best = true;
  ASSERT_EQ(run_training(options), 0);
  const std::string log = folder_.read("run/log.txt");
  EXPECT_SAYS(log, "validation epoch 1.0: ");
  EXPECT_LT(log.find("validation epoch 2.0: "), log.find("validation epoch 1.0: "));
  EXPECT_SAYS(log, "--clean-dir: 1 checkpoint removed");
  EXPECT_TRUE(std::filesystem::exists(folder_.path / "run/best_epoch.h5"));
}

TEST_F(EarlyStoppingRun, AResumedRunStopsWhereTheUnbrokenOneDoes) {
  TrainOptions options = this->options("run");
  options.num_epochs = 2;
  options.phases.validation = ValidationTime::during;
  options.early_stopping.monitor = "val_loss";
  options.early_stopping.min_delta = 100;
  options.early_stopping.patience = 3;
  ASSERT_EQ(run_training(options), 0);
  options.num_epochs = 9;
  options.checkpoints.resume = "auto";
  for (int i = 0; i < 2; ++i) {  // the second time there is nothing left to train
    ASSERT_EQ(run_training(options), 0);
    EXPECT_TRUE(std::filesystem::exists(folder_.path / "run/checkpoints/epoch_4.0.h5"));
    EXPECT_FALSE(std::filesystem::exists(folder_.path / "run/checkpoints/epoch_5.0.h5"));
  }
  const std::string log = folder_.read("run/log.txt");
  EXPECT_SAYS(log, "early stopping after epoch 4: val_loss was ");
  EXPECT_SAYS(log, "was in epoch 1, and the patience has run out");
}

TEST_F(EarlyStoppingRun, AHistoryCountsAsSeen) {
  HistoryWriter writer(folder_.path / "history.csv", folder_.path / "history.json", {});
  for (const double epoch : {0.5, 1.0, 2.0}) writer.append({.epoch = epoch, .step = 1, .loss = 1});
  EarlyStoppingFlags flags;
  flags.monitor = "loss";
  flags.patience = 2;
  std::string told;
  const auto callback = early_stopping_callback(
      flags, {Instances(), folder_.path, [&](const std::string& line) { told += line; }});
  FitContext context{.epoch = 2};
  callback->on_train_begin(context);
  callback->on_epoch_end(context, {{"loss", 1.0}});
  EXPECT_TRUE(context.stop);
  EXPECT_SAYS(told, "the best was 1 in epoch 1");
  EXPECT_EQ(early_stopping_callback({}, {Instances(), folder_.path, {}}), nullptr);
}

// The epochs after which a run ends that monitors these values.
int64_t epochs_until_stop(const std::string& monitor, const std::vector<double>& values) {
  const TestFolder folder;
  EarlyStoppingFlags flags;
  flags.monitor = monitor;
  const auto callback = early_stopping_callback(flags, {Instances(), folder.path, [](auto&) {}});
  FitContext context{.epochs = static_cast<int64_t>(values.size())};
  callback->on_train_begin(context);
  for (const double value : values) {
    callback->on_epoch_end(context, {{monitor, value}});
    if (context.stop) break;
    ++context.epoch;
  }
  return context.epoch;
}

TEST(EarlyStoppingFlags, FollowTheDirectionOfTheTask) {
  for (const Task& task : all_tasks()) {
    for (const std::string& monitor : {task.metric, "val_" + task.metric}) {
      EXPECT_EQ(epochs_until_stop(monitor, {0.1, 0.2}), task.larger_is_better ? 2 : 1) << monitor;
      EXPECT_EQ(epochs_until_stop(monitor, {0.2, 0.1}), task.larger_is_better ? 1 : 2) << monitor;
    }
  }
  EXPECT_EQ(epochs_until_stop("loss", {0.2, 0.1}), 2);
  EXPECT_EQ(epochs_until_stop("val_loss", {0.1, 0.2}), 1);
}

}  // namespace
}  // namespace pando::app

// Tests runs that are stopped and resumed, and the checkpoints that they resume from.
// SPDX-License-Identifier: MIT
#include "pando/app/run/resume.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include <nlohmann/json.hpp>

#include "pando/app/job/exit_code.h"
#include "pando/app/record/checkpoint_list.h"
#include "pando/app/record/checkpoint_store.h"
#include "pando/app/record/run_directory.h"
#include "pando/nn/layers.h"
#include "tests/app/training_run_fixture.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;

class ResumeRun : public TrainingRunTest {
 protected:
  // Six epochs of three updates.
  TrainOptions six(const std::string& run) const {
    TrainOptions given = options(run);
    given.num_epochs = 6;
    given.phases.validation = ValidationTime::off;
    return given;
  }
  TrainOptions resumed(const std::string& run, const std::string& from = "auto") const {
    TrainOptions given = six(run);
    given.checkpoints.resume = from;
    return given;
  }
  std::string file(const std::string& name) const { return (folder_.path / name).string(); }
  std::string last(const std::string& run) const {
    return folder_.read(run + "/checkpoints/epoch_6.0.h5");
  }
  std::vector<double> epochs(const std::string& run) const {
    std::vector<double> result;
    for (const auto& row : nlohmann::json::parse(folder_.read(run + "/history.json"))) {
      result.push_back(row["epoch"]);
    }
    return result;
  }
  // Runs to the end, goes back to the checkpoint of epoch 1 1/3 and runs to the end again.
  void break_after_a_third(TrainOptions options) {
    EXPECT_EQ(run_training(options), kDone);
    const fs::path run = options.run_dir;
    for (const CheckpointFile& checkpoint : checkpoints_in(run / "checkpoints")) {
      if (checkpoint.epoch > 1.5) fs::remove(checkpoint.path);
    }
    options.checkpoints.resume = "auto";
    EXPECT_EQ(run_training(options), kDone);
  }
  // The row of epoch 2 includes the updates before an interruption.
  void expect_same_rows(const std::string& run, const std::string& unbroken) const {
    const auto rows = nlohmann::json::parse(folder_.read(run + "/history.json"));
    const auto expected = nlohmann::json::parse(folder_.read(unbroken + "/history.json"));
    ASSERT_EQ(rows.size(), expected.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i]["loss"], expected[i]["loss"]);  // to the last digit
      EXPECT_EQ(rows[i]["accuracy"], expected[i]["accuracy"]);
    }
  }
  // Leaves the files of a run that is killed after this many epochs.
  void run_part(const std::string& run, int64_t epochs) {
    TrainOptions part = six(run);
    part.num_epochs = epochs;
    EXPECT_EQ(run_training(part), kDone);
  }
  void damage(const std::string& name) const {
    std::fstream stream(file(name), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(2000);
    stream.write("damage", 6);
  }
};

TEST_F(ResumeRun, GoesOnBitForBit) {
  EXPECT_EQ(run_training(six("whole")), kDone);
  run_part("run", 4);
  EXPECT_EQ(run_training(resumed("run")), kDone);
  EXPECT_TRUE(last("run") == last("whole"));
  EXPECT_EQ(epochs("run"), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_SAYS(folder_.read("run/log.txt"), "resuming from");
  EXPECT_FALSE(fs::exists(file("run/previous-1")));
}

TEST_F(ResumeRun, GoesOnBitForBitInHalfPrecision) {
  const auto half = [](TrainOptions given) {
    given.num_epochs = 2;
    given.precision = {DType::f16, DType::f16};
    given.loss.auto_loss_scaling = true;  // interrupted after 3 of the 4 updates of a period
    given.loss.auto_loss_scaling_params.update_frequency = 4;
    return given;
  };
  EXPECT_EQ(run_training(half(six("whole"))), kDone);
  TrainOptions part = half(six("run"));
  part.num_epochs = 1;
  EXPECT_EQ(run_training(part), kDone);
  EXPECT_EQ(run_training(half(resumed("run"))), kDone);
  EXPECT_TRUE(folder_.read("run/checkpoints/epoch_2.0.h5") ==
              folder_.read("whole/checkpoints/epoch_2.0.h5"));
  EXPECT_EQ(folder_.read("run/log.txt").find("may differ"), std::string::npos);
  EXPECT_SAYS(folder_.read("run/log.txt"),
              "after 3 weight updates, with the loss scaling factor 1");
  TrainOptions wide = resumed("run");
  wide.num_epochs = 3;
  EXPECT_EQ(run_training(wide), kDone);
  EXPECT_SAYS(folder_.read("run/log.txt"), "precision was '16.16' and is now '32.32'");
  EXPECT_SAYS(folder_.read("run/log.txt"), "auto-loss-scaling was 'true' and is now 'false'");
  EXPECT_SAYS(folder_.read("run/log.txt"), "update_frequency: 4", "(--auto-loss-scaling-params)");
}

TEST_F(ResumeRun, RowsAfterTheCheckpointAreWrittenAnew) {
  run_part("run", 4);
  fs::remove(file("run/checkpoints/epoch_4.0.h5"));
  fs::remove(file("run/checkpoints/epoch_3.0.h5"));
  EXPECT_EQ(run_training(resumed("run")), kDone);
  EXPECT_EQ(epochs("run"), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  std::istringstream csv(folder_.read("run/history.csv"));
  std::string line;
  int lines = 0;
  while (std::getline(csv, line)) ++lines;
  EXPECT_EQ(lines, 7);
}

TEST_F(ResumeRun, FromTheMiddleOfAnEpoch) {
  TrainOptions whole = six("whole");
  whole.logs_per_epoch = Fraction(1, 2);
  EXPECT_EQ(run_training(whole), kDone);
  TrainOptions often = six("run");
  often.checkpoints.per_epoch = Fraction(3);
  often.logs_per_epoch = Fraction(1, 2);
  break_after_a_third(often);
  EXPECT_TRUE(last("run") == last("whole"));
  expect_same_rows("run", "whole");
}

// The losses are so far apart that one double cannot hold their sum.
TEST_F(ResumeRun, SumsOfAnyLossesAreThoseOfAnUnbrokenRun) {
  for (const char* run : {"whole", "run"}) {
    TrainOptions given = six(run);
    given.schedule.learning_rate = 100;
    given.checkpoints.per_epoch = Fraction(3);
    given.logs_per_epoch = Fraction(1, 2);
    if (run == std::string("run")) {
      break_after_a_third(given);
    } else {
      EXPECT_EQ(run_training(given), kDone);
    }
  }
  const TrainingState broken = load_training_state(file("run/checkpoints/epoch_1.3333.h5"));
  EXPECT_FALSE(broken.notes.at("open_loss").ends_with(" 0"));  // the second part of the sum
  expect_same_rows("run", "whole");
}

TEST_F(ResumeRun, ASignalSavesWhereItStopped) {
  EXPECT_EQ(run_training(six("whole")), kDone);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    std::signal(signal, SIG_DFL);  // a shell in the background ignores SIGINT, which a run respects
    const std::string name = "run" + std::to_string(signal);
    TrainOptions endless = six(name);
    endless.num_epochs = 1000000;
    std::thread sender([&] {
      while (!fs::exists(file(name + "/log.txt"))) std::this_thread::yield();
      while (!fs::exists(file(name + "/checkpoints/epoch_1.0.h5"))) std::this_thread::yield();
      kill(getpid(), signal);
    });
    EXPECT_EQ(run_training(endless), kStopped);
    sender.join();
    EXPECT_NE(folder_.read(name + "/log.txt").find("--resume"), std::string::npos);
    const double stopped = checkpoints_in(file(name + "/checkpoints")).back().epoch;
    TrainOptions again = resumed(name);
    again.num_epochs = std::max<int64_t>(6, static_cast<int64_t>(stopped) + 1);
    EXPECT_EQ(run_training(again), kDone);
    EXPECT_TRUE(last(name) == last("whole") || stopped >= 6);
  }
}

TEST_F(ResumeRun, ADamagedCheckpointIsNamedAndTheOneBeforeIsUsed) {
  EXPECT_EQ(run_training(six("whole")), kDone);
  run_part("run", 4);
  damage("run/checkpoints/epoch_4.0.h5");
  EXPECT_EQ(run_training(resumed("run")), kDone);
  const std::string log = folder_.read("run/log.txt");
  EXPECT_SAYS(log, "warning: ", "epoch_4.0.h5 is skipped");
  EXPECT_SAYS(out_.str(), "epoch_4.0.h5 is skipped: ", "checksum");  // although the run is quiet
  EXPECT_NE(log.find("epoch_3.0.h5, after 9 weight updates"), std::string::npos);
  EXPECT_TRUE(fs::exists(file("run/checkpoints/epoch_4.0.h5.damaged")));
  EXPECT_TRUE(last("run") == last("whole"));
}

TEST_F(ResumeRun, AutoBeginsANewRunWhenThereIsNone) {
  EXPECT_EQ(run_training(resumed("run")), kDone);
  EXPECT_EQ(epochs("run").size(), 6u);
  EXPECT_EQ(run_training(resumed("run")), kDone);  // nothing is left to do
  EXPECT_EQ(epochs("run").size(), 6u);
  EXPECT_SAYS(folder_.read("run/log.txt"), "nothing to train", "--num-epochs");
}

TEST_F(ResumeRun, AFileOrAFolderMayBegin) {
  EXPECT_EQ(run_training(six("whole")), kDone);
  for (const char* from : {"whole/checkpoints/epoch_2.0.h5", "whole/checkpoints", "whole"}) {
    fs::remove_all(file("other"));
    EXPECT_EQ(run_training(resumed("other", file(from))), kDone);
    EXPECT_EQ(fs::exists(file("other/checkpoints/epoch_3.0.h5")),
              std::string(from).ends_with(".h5"));
  }
  EXPECT_EQ(run_training(resumed("again", file("whole/checkpoints/epoch_2.0.h5"))), kDone);
  EXPECT_TRUE(last("again") == last("whole"));
}

TEST_F(ResumeRun, NothingGoodIsAnError) {
  run_part("run", 1);
  damage("run/checkpoints/epoch_1.0.h5");
  EXPECT_SAYS(error_of<IoError>([&] { run_training(resumed("other", file("run"))); }),
              "no checkpoint that can be read");
  error_of<IoError>([&] { run_training(resumed("other", file("run/checkpoints/epoch_1.0.h5"))); });
  EXPECT_FALSE(fs::exists(file("other")));
}

TEST_F(ResumeRun, AnotherRunIsRefused) {
  run_part("run", 1);
  const auto says = [&](auto change) {
    TrainOptions other = resumed("run");
    change(other);
    return error_of<UsageError>([&] { run_training(other); });
  };
  EXPECT_SAYS(says([](TrainOptions& given) { given.micro_batch_size = 32; }), "--resume",
              "global batch size 64", "32", "--weights");
  EXPECT_SAYS(says([](TrainOptions& given) { given.weight_updates_per_epoch = 2; }),
              "updates per epoch 3", "2", "--weight-updates-per-epoch");
  EXPECT_SAYS(says([](TrainOptions& given) { given.model = "toy_model"; }), "model mnist_cnn");
  TrainOptions seeded = resumed("run");
  seeded.seed = 2;
  seeded.config_text = "seed: 2\n";
  EXPECT_SAYS(error_of<InvalidArgument>([&] { run_training(seeded); }), "seed 1");
  EXPECT_EQ(folder_.read("run/config.yml"), "model: mnist_cnn\n");
  TrainOptions sliced = resumed("run");
  sliced.slices = 1;
  EXPECT_EQ(run_training(sliced), kDone);
  EXPECT_SAYS(folder_.read("run/log.txt"), "slices was '2' and is now '1'");
  EXPECT_SAYS(out_.str(), "slices was '2' and is now '1'");  // although the run is quiet
}

TEST_F(ResumeRun, WhatDoesNotFitLeavesTheRunAlone) {
  run_part("run", 1);
  folder_.write("run/config.yml", "as it was\n");
  TrainOptions seed = resumed("run");
  seed.seed = 7;
  EXPECT_SAYS(error_of<UsageError>([&] { run_training(seed); }), "seed 1, this run has 7");
  TrainOptions optimizer = resumed("run");
  optimizer.optimizer.name = "adam";
  EXPECT_SAYS(error_of<UsageError>([&] { run_training(optimizer); }), "--weights");
  EXPECT_EQ(folder_.read("run/config.yml"), "as it was\n");
}

TEST_F(ResumeRun, AnotherRunsCheckpointBeginsANewHistory) {
  run_part("first", 2);
  run_part("second", 3);
  EXPECT_EQ(run_training(resumed("second", file("first"))), kDone);
  EXPECT_EQ(epochs("second"), (std::vector<double>{3, 4, 5, 6}));
  EXPECT_TRUE(fs::exists(file("second/previous-1/history.json")));
}

TEST_F(ResumeRun, LaterCheckpointsAreSetAside) {
  EXPECT_EQ(run_training(six("whole")), kDone);
  run_part("run", 4);
  TrainOptions earlier = resumed("run", file("run/checkpoints/epoch_1.0.h5"));
  earlier.num_epochs = 2;
  EXPECT_EQ(run_training(earlier), kDone);
  EXPECT_TRUE(fs::exists(file("run/checkpoints/epoch_4.0.h5.old")));
  EXPECT_EQ(checkpoints_in(file("run/checkpoints")).size(), 2u);
  EXPECT_NE(folder_.read("run/log.txt").find("of later epochs: 3 checkpoints"), std::string::npos);
  EXPECT_EQ(run_training(resumed("run")), kDone);
  EXPECT_TRUE(last("run") == last("whole"));
}

TEST_F(ResumeRun, ValidatingAgainReplacesTheRows) {
  TrainOptions given = six("run");
  given.phases.validation = ValidationTime::after;
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_EQ(epochs("run").size(), 12u);
  given.checkpoints.resume = "auto";
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_EQ(epochs("run").size(), 12u);
}

TEST_F(ResumeRun, ADamagedHistoryStopsNothing) {
  run_part("run", 2);
  folder_.write("run/history.json", "[{\"epoch\": 1.0,");
  EXPECT_EQ(run_training(resumed("run")), kDone);
  EXPECT_EQ(epochs("run"), (std::vector<double>{3, 4, 5, 6}));
  EXPECT_TRUE(fs::exists(file("run/history.json.damaged")));
  EXPECT_SAYS(out_.str(), "history.json", "renamed to history.json.damaged");
}

TEST_F(ResumeRun, ARunningRunHasItsFolderAlone) {
  RunDirectory other({.path = file("run"), .config = ""});
  EXPECT_SAYS(error_of<ResourceError>([&] { run_training(six("run")); }), "another run is writing");
}

TEST_F(ResumeRun, WithoutTrainingAnEarlierRunIsNotMoved) {
  run_part("run", 1);
  TrainOptions given = six("run");
  given.phases.training = false;
  given.phases.validation = ValidationTime::after;
  EXPECT_SAYS(error_of<UsageError>([&] { run_training(given); }), "pando validate");
  EXPECT_FALSE(fs::exists(file("run/previous-1")));
}

TEST_F(ResumeRun, TheBestOfAllEpochsIsKeptBesideTheLast) {
  TrainOptions given = six("run");
  given.phases.validation = ValidationTime::during;
  given.checkpoints.keep_best = true;
  given.checkpoints.keep_last = 1;
  EXPECT_EQ(run_training(given), kDone);
  std::vector<nlohmann::json> rows;
  for (const auto& row : nlohmann::json::parse(folder_.read("run/history.json"))) {
    if (row.contains("val_accuracy") && !row["val_accuracy"].is_null()) rows.push_back(row);
  }
  ASSERT_EQ(rows.size(), 6u);
  size_t best = 0;
  for (size_t i = 0; i < 6; ++i) {
    if (rows[i]["val_accuracy"] > rows[best]["val_accuracy"]) best = i;
  }
  const TrainingState kept = load_training_state(file("run/checkpoints/best.h5"));
  EXPECT_EQ(static_cast<double>(kept.position.epoch), rows[best]["epoch"].get<double>());
  EXPECT_EQ(checkpoints_in(file("run/checkpoints")).size(), 1u);
}

TEST_F(ResumeRun, KeepLastKeepsTheNewest) {
  TrainOptions given = six("run");
  given.checkpoints.keep_last = 2;
  EXPECT_EQ(run_training(given), kDone);
  const auto left = checkpoints_in(file("run/checkpoints"));
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].epoch, 5);
  EXPECT_EQ(left[1].epoch, 6);
}

TEST_F(ResumeRun, KeepLastCountsWhatTheRunWroteBeforeABreak) {
  run_part("run", 3);
  TrainOptions given = resumed("run");
  given.num_epochs = 4;
  given.checkpoints.keep_last = 2;
  EXPECT_EQ(run_training(given), kDone);
  const auto left = checkpoints_in(file("run/checkpoints"));
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].epoch, 3);
  EXPECT_EQ(left[1].epoch, 4);
}

TEST_F(ResumeRun, FrequencyAndFirstEpochOfCheckpoints) {
  TrainOptions given = six("run");
  given.num_epochs = 5;
  given.checkpoints.per_epoch = Fraction(1, 3);
  given.checkpoints.first_epoch = Fraction(2);
  given.checkpoints.output_dir = file("elsewhere");
  EXPECT_EQ(run_training(given), kDone);
  const auto written = checkpoints_in(file("elsewhere"));
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[0].path.filename(), "epoch_2.0.h5");
  EXPECT_EQ(written[1].path.filename(), "epoch_5.0.h5");
  EXPECT_FALSE(fs::exists(file("run/checkpoints")));
}

TEST_F(ResumeRun, NoCheckpointWhenNoneIsWanted) {
  TrainOptions given = six("run");
  given.checkpoints.per_epoch = Fraction(0);
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_TRUE(checkpoints_in(file("run/checkpoints")).empty());
}

TEST_F(ResumeRun, OneExecutionMaySpanTheRun) {
  EXPECT_EQ(run_training(six("whole")), kDone);
  TrainOptions given = six("run");
  given.logs_per_epoch = Fraction(0);
  given.logs_are_given = true;
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_EQ(epochs("run"), (std::vector<double>{6}));
  EXPECT_EQ(checkpoints_in(file("run/checkpoints")).size(), 1u);
}

TEST_F(ResumeRun, GoesOnBitForBitWhereExecutionsSpanEpochs) {
  TrainOptions given = six("run");
  given.logs_per_epoch = Fraction(1, 2);
  given.logs_are_given = true;
  EXPECT_EQ(run_training(given), kDone);
  const std::string unbroken = last("run");
  fs::remove(file("run/checkpoints/epoch_6.0.h5"));
  fs::remove(file("run/checkpoints/epoch_4.0.h5"));
  given.checkpoints.resume = "auto";
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_TRUE(last("run") == unbroken);
  EXPECT_EQ(epochs("run"), (std::vector<double>{2, 4, 6}));
}

TEST_F(ResumeRun, WeightsToBeginWith) {
  EXPECT_EQ(run_training(six("whole")), kDone);
  TrainOptions given = six("run");
  given.checkpoints.weights = file("whole/checkpoints/epoch_6.0.h5");
  EXPECT_EQ(run_training(given), kDone);
  const auto first = nlohmann::json::parse(folder_.read("run/history.json"))[0]["loss"];
  const auto random = nlohmann::json::parse(folder_.read("whole/history.json"))[0]["loss"];
  EXPECT_LT(first, random);
}

// A good first epoch, then a learning rate at which every network diverges.
TrainOptions diverging(TrainOptions given) {
  given.schedule.learning_rate.reset();
  given.schedule.kind = ScheduleKind::stepped;
  given.schedule.params.boundaries = std::vector<double>{0.9};
  given.schedule.params.values = std::vector<double>{0.05, 1e30};
  return given;
}

TEST_F(ResumeRun, DivergenceNamesTheLastGoodCheckpoint) {
  const std::string says = error_of<NonFiniteLoss>([&] { run_training(diverging(six("run"))); });
  EXPECT_SAYS(says, "epoch 2");
  EXPECT_SAYS(says, "The last good checkpoint is " + file("run/checkpoints/epoch_1.0.h5"));
  EXPECT_EQ(load_training_state(file("run/checkpoints/epoch_1.0.h5")).iteration, 3);
  EXPECT_EQ(checkpoints_in(file("run/checkpoints")).size(), 1u);
}

TEST_F(ResumeRun, RollbackGoesBackThreeTimesWithHalfTheRate) {
  TrainOptions given = diverging(six("run"));
  given.checkpoints.on_nan = OnNan::rollback;
  error_of<NonFiniteLoss>([&] { run_training(given); });
  const std::string log = folder_.read("run/log.txt");
  for (const char* factor : {"0.5", "0.25", "0.125"}) {
    EXPECT_SAYS(log, "epoch_1.0.h5 ", std::string(factor) + " of the learning rate");
  }
  EXPECT_EQ(log.find("0.0625 of"), std::string::npos);
  EXPECT_EQ(checkpoints_in(file("run/checkpoints")).size(), 1u);
}

TEST_F(ResumeRun, TheRateThatIsLeftIsResumed) {
  run_part("run", 1);
  const std::string path = file("run/checkpoints/epoch_1.0.h5");
  TrainingState state = load_training_state(path);
  state.notes["learning_rate_factor"] = "0.5";
  save_training_state(path, state);
  EXPECT_EQ(run_training(resumed("run")), kDone);
  const auto rows = nlohmann::json::parse(folder_.read("run/history.json"));
  EXPECT_EQ(rows[0]["learning_rate"], 0.05);
  EXPECT_EQ(rows[5]["learning_rate"], 0.025);
  EXPECT_EQ(
      load_training_state(file("run/checkpoints/epoch_6.0.h5")).notes.at("learning_rate_factor"),
      "0.5");
}

TEST(CheckpointName, TellsUpdatesApart) {
  EXPECT_EQ(checkpoint_name({3, 0}, 7), "epoch_3.0.h5");
  EXPECT_EQ(checkpoint_name({0, 71}, 781), "epoch_0.0909.h5");
  EXPECT_EQ(checkpoint_name({1, 1}, 80000), "epoch_1.000012.h5");
  EXPECT_NE(checkpoint_name({1, 79999}, 80000), checkpoint_name({1, 79998}, 80000));
}

TEST_F(ResumeRun, TheBestIsKept) {
  TrainOptions given = six("run");
  given.phases.validation = ValidationTime::after;
  given.checkpoints.keep_best = true;
  EXPECT_EQ(run_training(given), kDone);
  double best = -1;
  double epoch = 0;
  for (const auto& row : nlohmann::json::parse(folder_.read("run/history.json"))) {
    if (!row.contains("val_accuracy") || row["val_accuracy"].get<double>() <= best) continue;
    best = row["val_accuracy"];
    epoch = row["epoch"];
  }
  const TrainingState kept = load_training_state(file("run/checkpoints/best.h5"));
  EXPECT_EQ(static_cast<double>(kept.position.epoch), epoch);
  EXPECT_SAYS(error_of<IoError>([&] { keep_as_best(file("run/checkpoints"), 9); }), "epoch 9");
}

}  // namespace
}  // namespace pando::app

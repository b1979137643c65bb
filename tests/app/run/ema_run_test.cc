// Runs that keep a moving average of the weights (--ema-decay).
// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "pando/app/flags/deciding_options.h"
#include "pando/app/job/exit_code.h"
#include "tests/app/parse_options.h"
#include "tests/app/training_run_fixture.h"

namespace pando::app {
namespace {

class EmaRun : public TrainingRunTest {
 protected:
  TrainOptions averaged(const std::string& run) const {
    TrainOptions given = options(run);
    given.optimizer.ema_decay = 0.5;
    return given;
  }
  std::string checkpoint(const std::string& run) const {
    return folder_.read(run + "/checkpoints/epoch_2.0.h5");
  }
  std::vector<double> column(const std::string& run, const char* name) const {
    std::vector<double> values;
    for (const auto& row : nlohmann::json::parse(folder_.read(run + "/history.json"))) {
      if (row.contains(name) && row[name].is_number()) values.push_back(row[name]);
    }
    return values;
  }
};

TEST_F(EmaRun, TrainsAlikeAndValidatesTheAverage) {
  ASSERT_EQ(run_training(options("plain")), kDone) << out_.str();
  ASSERT_EQ(run_training(averaged("averaged")), kDone) << out_.str();
  EXPECT_EQ(column("averaged", "loss"), column("plain", "loss"));
  EXPECT_NE(column("averaged", "val_loss"), column("plain", "val_loss"));
}

TEST_F(EmaRun, ResumesBitForBit) {
  const auto unvalidated = [&](const std::string& run) {
    TrainOptions given = averaged(run);
    given.phases.validation = ValidationTime::off;
    return given;
  };
  ASSERT_EQ(run_training(unvalidated("whole")), kDone) << out_.str();
  TrainOptions part = unvalidated("run");
  part.num_epochs = 1;
  ASSERT_EQ(run_training(part), kDone);
  TrainOptions rest = unvalidated("run");
  rest.checkpoints.resume = "auto";
  ASSERT_EQ(run_training(rest), kDone);
  EXPECT_TRUE(checkpoint("run") == checkpoint("whole"));
}

// What was measured during training is measured again later, and the log says of what.
TEST_F(EmaRun, LaterValidationFindsTheSameFigures) {
  ASSERT_EQ(run_training(averaged("run")), kDone) << out_.str();
  TrainOptions again = options("again");
  again.phases.training = false;
  again.phases.checkpoint_input_dir = (folder_.path / "run/checkpoints").string();
  ASSERT_EQ(run_training(again), kDone) << out_.str();
  EXPECT_EQ(column("again", "val_loss"), column("run", "val_loss"));
  EXPECT_SAYS(folder_.read("again/log.txt"), "moving averages", "--ema-decay 0.5");
  TrainOptions next = options("next");
  next.checkpoints.weights = (folder_.path / "run/checkpoints/epoch_2.0.h5").string();
  ASSERT_EQ(run_training(next), kDone) << out_.str();
  EXPECT_SAYS(folder_.read("next/log.txt"), "moving averages");
}

TEST_F(EmaRun, FlagIsCheckedAndRecorded) {
  EXPECT_EQ(parse({"--ema-decay=0.999"}).optimizer.ema_decay, 0.999);
  EXPECT_EQ(to_yaml(*deciding_options(parse({"--ema-decay=0.5"})).find("ema-decay")), "0.5");
  EXPECT_SAYS(error({"--ema-decay=1"}), "--ema-decay", "below 1");
  EXPECT_SAYS(error({"--ema-decay=-0.5"}), "--ema-decay");
  EXPECT_SAYS(error({"--model-ema-decay=0.9"}), "--model-ema-decay", "--ema-decay");
}

}  // namespace
}  // namespace pando::app

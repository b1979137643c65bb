// Tests runs of `pando train` with schedules, regularisation and smoothed labels.
#include <nlohmann/json.hpp>

#include "pando/app/job/exit_code.h"
#include "tests/app/training_run_fixture.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

class TrainSchedule : public TrainingRunTest {
 protected:
  // Half a cosine wave over two epochs of three updates.
  TrainOptions cosine(const std::string& run) const {
    TrainOptions given = options(run);
    given.schedule = {.learning_rate = 0.4, .kind = ScheduleKind::cosine};
    given.schedule.params.epochs_to_total_decay = 2;
    given.optimizer.l2_regularization = 1e-4;
    return given;
  }
  nlohmann::json last_row(const std::string& run) const {
    return nlohmann::json::parse(folder_.read(run + "/history.json")).back();
  }
};

TEST_F(TrainSchedule, TheHistoryHasTheRateOfTheNextUpdate) {
  TrainOptions alone = cosine("run");
  alone.phases.validation = ValidationTime::off;
  EXPECT_EQ(run_training(alone), kDone);
  const auto rows = nlohmann::json::parse(folder_.read("run/history.json"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_NEAR(rows[0]["learning_rate"].get<double>(), 0.2, 1e-15);
  EXPECT_EQ(rows[1]["learning_rate"].get<double>(), 0);
  EXPECT_SAYS(folder_.read("run/log.txt"), "learning rate cosine from 0.4 to 0 over 2 epochs");
}

TEST_F(TrainSchedule, LoggingDoesNotChangeTheRates) {
  EXPECT_EQ(run_training(cosine("few")), kDone);
  TrainOptions often = cosine("often");
  often.logs_per_epoch = Fraction(3);
  EXPECT_EQ(run_training(often), kDone);
  EXPECT_EQ(last_row("few")["val_loss"], last_row("often")["val_loss"]);
}

TEST_F(TrainSchedule, SmoothedLabelsHaveALossOfTheirOwn) {
  TrainOptions smooth = cosine("smooth");
  smooth.loss.label_smoothing = 0.5;
  EXPECT_EQ(run_training(cosine("sharp")), kDone);
  EXPECT_EQ(run_training(smooth), kDone);
  EXPECT_GT(last_row("smooth")["val_loss"], last_row("sharp")["val_loss"]);
}

// Two epochs of three weight updates.
TEST_F(TrainSchedule, AutomaticLossScalingIsInEveryRecord) {
  TrainOptions scaled = cosine("scaled");
  scaled.loss.auto_loss_scaling = true;
  scaled.loss.auto_loss_scaling_params.update_frequency = 2;
  scaled.logging.wandb = true;
  scaled.quiet = false;
  scaled.phases.validation = ValidationTime::off;
  EXPECT_EQ(run_training(scaled), kDone);
  EXPECT_SAYS(out_.str(), "loss scaling automatic from 1, by 2 every 2 weight updates");
  EXPECT_SAYS(folder_.read("scaled/log.txt"), "loss scaling factor: 8");
  const auto rows = nlohmann::json::parse(folder_.read("scaled/history.json"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["loss_scaling_factor"], 2);
  EXPECT_EQ(rows[1]["loss_scaling_factor"], 8);
  EXPECT_SAYS(folder_.read("scaled/history.csv"), ",loss_scaling_factor");
  EXPECT_SAYS(folder_.read("scaled/wandb.jsonl"), "\"loss_scaling_factor\":8");
  TrainOptions plain = cosine("plain");
  plain.phases.validation = ValidationTime::off;
  EXPECT_EQ(run_training(plain), kDone);
  EXPECT_EQ(last_row("plain")["loss"], rows[1]["loss"]);
  EXPECT_FALSE(last_row("plain").contains("loss_scaling_factor"));
}

TEST_F(TrainSchedule, AStaticFactorIsToldAndLeavesNoTraceInFullPrecision) {
  TrainOptions scaled = cosine("scaled");
  scaled.loss.loss_scaling = 128;
  scaled.quiet = false;
  EXPECT_EQ(run_training(scaled), kDone);
  EXPECT_SAYS(out_.str(), "loss scaling 128 x 1 replica = 128\n");
  EXPECT_EQ(run_training(cosine("plain")), kDone);
  EXPECT_EQ(last_row("scaled")["val_loss"], last_row("plain")["val_loss"]);
}

TEST_F(TrainSchedule, ScalingWithoutEffectIsToldOnce) {
  TrainOptions scaled = cosine("run");
  scaled.loss.loss_scaling = 128;
  scaled.quiet = false;
  EXPECT_EQ(run_training(scaled), kDone);
  const std::string warning = "warning: --loss-scaling 128 gains nothing in 32.32";
  const size_t first = out_.str().find(warning);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(out_.str().find(warning, first + 1), std::string::npos);
}

}  // namespace
}  // namespace pando::app

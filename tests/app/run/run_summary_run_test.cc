// What summary.json says after every way out of a run. That of a run that was killed is tested with
// the board (tests/board).
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/record/run_summary.h"
#include "pando/app/run/training_run.h"
#include "tests/app/training_run_fixture.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

class RunSummaryRun : public TrainingRunTest {
 protected:
  RunSummary summary(const std::string& run) const {
    return parse_summary(folder_.read(run + "/summary.json"));
  }

  // Stops after the first epoch.
  void stop_run(const std::string& run) {
    TrainOptions endless = options(run);
    endless.num_epochs = 1000000;
    std::thread sender([&] {
      while (!std::filesystem::exists(folder_.path / run / "checkpoints/epoch_1.0.h5")) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      kill(getpid(), SIGTERM);
    });
    EXPECT_EQ(run_training(endless), kStopped);
    sender.join();
  }
};

class ThrowAtEpoch : public Callback {
 public:
  void on_epoch_end(FitContext&, const Logs&) override { throw IoError("the disk is on fire"); }
};

TEST_F(RunSummaryRun, Done) {
  TrainOptions given = options("run");
  EXPECT_EQ(run_training(given), kDone);
  const RunSummary done = summary("run");
  EXPECT_EQ(done.state, RunState::done);
  EXPECT_EQ(done.cause, "");
  EXPECT_EQ(done.facts.command, "train");
  EXPECT_EQ(done.facts.model, given.model_name());
  EXPECT_EQ(done.facts.dataset, given.data.dataset);
  EXPECT_EQ(done.facts.epochs, 2);
  EXPECT_EQ(done.facts.id.size(), 32u);
  EXPECT_EQ(done.epoch, 2);
  ASSERT_TRUE(done.best);
  EXPECT_TRUE(done.best->of_validation);
  EXPECT_EQ(done.points.size(), 2u);
  EXPECT_GE(done.updated, done.started);
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "run/.lock"));
}

TEST_F(RunSummaryRun, StoppedAndResumed) {
  stop_run("run");
  const RunSummary stopped = summary("run");
  EXPECT_EQ(stopped.state, RunState::stopped);
  EXPECT_EQ(stopped.cause, "stopped by SIGTERM");
  TrainOptions resumed = options("run");
  resumed.num_epochs = static_cast<int64_t>(stopped.epoch) + 1;
  resumed.checkpoints.resume = "auto";
  EXPECT_EQ(run_training(resumed), kDone);
  const RunSummary done = summary("run");
  EXPECT_EQ(done.state, RunState::done);
  EXPECT_EQ(done.cause, "");
  EXPECT_EQ(done.started, stopped.started);
  EXPECT_EQ(done.facts.id, stopped.facts.id);
  EXPECT_GT(done.epoch, stopped.epoch);
  EXPECT_GT(done.points.size(), stopped.points.size());
}

TEST_F(RunSummaryRun, FailedByAnException) {
  TrainingParts parts;
  parts.callbacks.push_back(std::make_shared<ThrowAtEpoch>());
  const TrainOptions given = options("run");
  EXPECT_THROW(app::run_training(given, out_, parts), IoError);
  EXPECT_EQ(summary("run").state, RunState::failed);
  EXPECT_EQ(summary("run").cause, "the disk is on fire");
}

TEST_F(RunSummaryRun, FailedBeforeItsFirstStep) {
  TrainOptions given = options("run");
  EXPECT_EQ(run_training(given), kDone);
  std::filesystem::remove(folder_.path / "run/run.json");
  std::filesystem::create_directories(folder_.path / "run/run.json/taken");
  given.num_epochs = 3;
  given.checkpoints.resume = "auto";
  EXPECT_THROW(run_training(given), IoError);
  EXPECT_EQ(summary("run").state, RunState::failed);
  EXPECT_SAYS(summary("run").cause, "run.json");
}

TEST_F(RunSummaryRun, FailedByALossThatIsNotFinite) {
  TrainOptions wild = options("run");
  wild.schedule.learning_rate = 1e9;
  EXPECT_THROW(run_training(wild), std::exception);
  EXPECT_EQ(summary("run").state, RunState::failed);
  EXPECT_SAYS(summary("run").cause, "loss");
}

TEST_F(RunSummaryRun, EarlyStopping) {
  TrainOptions given = options("run");
  given.num_epochs = 50;
  given.phases.validation = ValidationTime::off;
  given.early_stopping.monitor = "loss";
  given.early_stopping.min_delta = 100;  // nothing is an improvement
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_EQ(summary("run").state, RunState::done);
  EXPECT_SAYS(summary("run").cause, "early stopping after epoch 2");
  EXPECT_EQ(summary("run").epoch, 2);
  EXPECT_EQ(summary("run").facts.epochs, 50);
}

// The summary of an earlier run moves with its other files.
TEST_F(RunSummaryRun, EarlierRunsKeepTheirs) {
  stop_run("run");
  EXPECT_EQ(run_training(options("run")), kDone);
  EXPECT_EQ(summary("run").state, RunState::done);
  EXPECT_EQ(summary("run/previous-1").state, RunState::stopped);
}

}  // namespace
}  // namespace pando::app

// What a run leaves for its report, and report.html after every way out.
#include "pando/app/run/run_outputs.h"

#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "pando/app/html/run_record.h"
#include "pando/app/job/exit_code.h"
#include "pando/app/run/training_run.h"
#include "pando/app/run/validation_report.h"
#include "pando/base/json.h"
#include "tests/app/html/page_data.h"
#include "tests/app/training_run_fixture.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

class ReportRun : public TrainingRunTest {
 protected:
  TrainOptions report_options() const {
    TrainOptions given = options("run");
    given.logging.report = true;
    return given;
  }
  Json report() const { return data_of_page(folder_.read("run/report.html")); }
  Json classes() const { return report().at("details").items()[0].at("classes"); }
  void run_until_stopped(TrainOptions endless) {
    endless.num_epochs = 1000000;
    std::thread sender([&] {
      while (!std::filesystem::exists(folder_.path / "run/checkpoints/epoch_1.0.h5")) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      kill(getpid(), SIGTERM);
    });
    EXPECT_EQ(run_training(endless), kStopped);
    sender.join();
  }
  std::string state() const { return report().at("runs").items()[0].get<std::string>("state"); }
};

class FailAtEpoch : public Callback {
 public:
  explicit FailAtEpoch(int64_t epoch = 0) : epoch_(epoch) {}
  void on_epoch_end(FitContext& context, const Logs&) override {
    if (context.epoch >= epoch_) throw IoError("the disk is on fire");
  }

 private:
  int64_t epoch_;
};

// Makes a folder where the report would be written.
class TakeThePlace : public Callback {
 public:
  explicit TakeThePlace(std::filesystem::path path) : path_(std::move(path)) {}
  void on_train_begin(FitContext&) override { std::filesystem::create_directories(path_); }

 private:
  std::filesystem::path path_;
};

TEST_F(ReportRun, DoneWithAllParts) {
  TrainOptions given = report_options();
  given.profile = (folder_.path / "run/profile").string();
  given.quiet = false;
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_SAYS(out_.str(), "report written to");
  const Json data = report();
  EXPECT_EQ(state(), "done");
  const Json& details = data.at("details").items()[0];
  EXPECT_EQ(details.at("classes").get<int>("samples"), 50);
  EXPECT_EQ(details.at("classes").at("shown").at("samples").items().size(), 50u);
  EXPECT_TRUE(
      details.at("classes").at("shown").get<std::string>("sheet").starts_with("data:image/png"));
  EXPECT_EQ(details.at("input").at("samples").items().size(), 24u);
  EXPECT_GT(details.at("input").at("prepared").get<int>("samples"), 0);
  const Json& profile = details.at("profile");
  EXPECT_GT(profile.at("time").get<double>("span_seconds"), 0);
  EXPECT_FALSE(profile.at("memory").at("blocks").items().empty());
  EXPECT_GT(profile.at("trace").get<int>("shown"), 10);
  EXPECT_TRUE(profile.at("schedule").is_null());  // no pipeline
  EXPECT_FALSE(data.at("load").items().empty());
  EXPECT_LT(folder_.read("run/report.html").size(), size_t{3} << 20);
}

// The later of two runs with the same --profile takes the folder; the report of the other says so.
TEST_F(ReportRun, TwoRunsShareTheFolderOfTheirProfiles) {
  TrainOptions given = report_options();
  given.profile = (folder_.path / "profile").string();
  EXPECT_EQ(run_training(given), kDone);
  const auto profile_of = [&](const char* run) {
    const Json data = data_of_page(run_report_html({folder_.path / run}));
    return data.at("details").items()[0].at("profile");
  };
  EXPECT_FALSE(profile_of("run").at("time").is_null());
  EXPECT_TRUE(profile_of("run").at("missing").is_null());
  TrainOptions second = options("second");
  second.profile = given.profile;
  EXPECT_EQ(run_training(second), kDone);
  EXPECT_FALSE(profile_of("second").at("time").is_null());
  EXPECT_TRUE(profile_of("run").at("time").is_null());
  EXPECT_SAYS(profile_of("run").get<std::string>("missing"), "second", "--profile");
}

// What another run left goes before anything is written, so that a crash mixes nothing.
TEST(ClaimProfile, RemovesTheFilesOfAnotherRun) {
  const TestFolder folder;
  folder.write("train_report.json", "first");
  folder.write("train_schedule.json", "first");
  folder.write("notes.txt", "mine");
  claim_profile(folder.path, {.id = "1", .directory = "one"});
  EXPECT_FALSE(std::filesystem::exists(folder.path / "train_report.json"));  // of nobody known
  folder.write("train_report.json", "first");
  claim_profile(folder.path, {.id = "1", .directory = "one"});
  EXPECT_EQ(folder.read("train_report.json"), "first");
  claim_profile(folder.path, {.id = "2", .directory = "two"});
  EXPECT_FALSE(std::filesystem::exists(folder.path / "train_report.json"));
  EXPECT_FALSE(std::filesystem::exists(folder.path / "train_schedule.json"));
  EXPECT_EQ(folder.read("notes.txt"), "mine");
  EXPECT_EQ(mark_in(folder.path, kProfileMark).directory, "two");
  EXPECT_THROW(claim_profile(folder.path / "notes.txt", {.id = "3", .directory = ""}), IoError);
}

TEST_F(ReportRun, WithoutTheFlagThereIsNone) {
  EXPECT_EQ(run_training(options("run")), kDone);
  EXPECT_FALSE(std::filesystem::exists(folder_.path / "run/report.html"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path / "run/class_report.json"));
}

TEST_F(ReportRun, StoppedBySignal) {
  TrainOptions given = report_options();
  given.phases.validation = ValidationTime::after;
  run_until_stopped(given);
  EXPECT_EQ(state(), "stopped");
  EXPECT_TRUE(report().at("details").items()[0].at("classes").is_null());
}

TEST_F(ReportRun, StoppedBySignalAfterAValidation) {
  TrainOptions given = report_options();
  given.phases.validation = ValidationTime::during;
  run_until_stopped(given);
  EXPECT_EQ(state(), "stopped");
  EXPECT_EQ(classes().get<int>("samples"), 50);
  EXPECT_FALSE(classes().at("cells").items().empty());
}

// The weights of a run that is asked to stop are saved without waiting for its report.
TEST_F(ReportRun, ASignalEndsTheReportOfAValidation) {
  const TrainOptions given = report_options();
  TrainingSetup setup(given, out_);
  RunDirectory directory({.path = folder_.path / "run", .model = "mnist_cnn", .config = ""});
  RunLog log(directory, out_, true);
  const AgreedSignal signal(setup.instances);
  const std::filesystem::path record = folder_.path / "run/class_report.json";
  keep_report(setup, log, signal);
  EXPECT_TRUE(std::filesystem::remove(record));
  kill(getpid(), SIGTERM);
  keep_report(setup, log, signal);
  EXPECT_FALSE(std::filesystem::exists(record));
}

TEST_F(ReportRun, Failed) {
  TrainingParts parts;
  parts.callbacks.push_back(std::make_shared<FailAtEpoch>());
  const TrainOptions given = report_options();
  EXPECT_THROW(app::run_training(given, out_, parts), IoError);
  EXPECT_EQ(state(), "failed");
  EXPECT_EQ(report().at("runs").items()[0].get<std::string>("cause"), "the disk is on fire");
}

// Reports in the middle of training change no bits of it.
TEST_F(ReportRun, FailedAfterValidations) {
  TrainOptions given = report_options();
  given.num_epochs = 3;
  given.phases.validation = ValidationTime::during;
  TrainingParts parts;
  parts.callbacks.push_back(std::make_shared<FailAtEpoch>(1));
  EXPECT_THROW(app::run_training(given, out_, parts), IoError);
  EXPECT_EQ(state(), "failed");
  EXPECT_EQ(classes().get<int>("samples"), 50);
  TrainOptions plain = options("plain");
  plain.phases.validation = ValidationTime::during;
  EXPECT_EQ(run_training(plain), kDone);
  EXPECT_EQ(folder_.read("run/checkpoints/epoch_2.0.h5"),
            folder_.read("plain/checkpoints/epoch_2.0.h5"));
}

TEST_F(ReportRun, EarlyStopping) {
  TrainOptions given = report_options();
  given.num_epochs = 50;
  given.phases.validation = ValidationTime::off;
  given.early_stopping.monitor = "loss";
  given.early_stopping.min_delta = 100;  // nothing is an improvement
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_EQ(state(), "done");
  EXPECT_SAYS(report().at("runs").items()[0].get<std::string>("cause"), "early stopping");
}

TEST_F(ReportRun, EarlyStoppingKeepsTheClasses) {
  TrainOptions given = report_options();
  given.num_epochs = 50;
  given.phases.validation = ValidationTime::during;
  given.early_stopping.monitor = "val_loss";
  given.early_stopping.min_delta = 100;
  EXPECT_EQ(run_training(given), kDone);
  EXPECT_EQ(state(), "done");
  EXPECT_SAYS(report().at("runs").items()[0].get<std::string>("cause"), "early stopping");
  EXPECT_EQ(classes().get<int>("samples"), 50);
}

// What cannot be written costs neither the result nor the exit code.
TEST_F(ReportRun, AReportThatCannotBeWrittenIsAWarning) {
  TrainingParts parts;
  parts.callbacks.push_back(
      std::make_shared<TakeThePlace>(folder_.path / "run/report.html/occupied"));
  const TrainOptions given = report_options();
  EXPECT_EQ(app::run_training(given, out_, parts), kDone);
  EXPECT_SAYS(out_.str(), "warning: --report", "report.html");
  EXPECT_EQ(read_run(folder_.path / "run").summary.state, RunState::done);
}

TEST_F(ReportRun, PipelinesLeaveTheirSchedule) {
  TrainOptions given = report_options();
  given.slices = 1;
  given.micro_batch_size = 16;
  given.devices.pipeline_splits = {"conv2d_1"};
  given.devices.gradient_accumulation_count = 3;
  given.profile = (folder_.path / "run/profile").string();
  EXPECT_EQ(run_training(given), kDone);
  const Json schedule = report().at("details").items()[0].at("profile").at("schedule");
  EXPECT_EQ(schedule.get<int>("stages"), 2);
  EXPECT_EQ(schedule.get<int>("micro_batches"), 3);
  EXPECT_GT(schedule.get<double>("planned_seconds"), 0);
  EXPECT_EQ(schedule.at("devices").items().size(), 2u);
}

}  // namespace
}  // namespace pando::app

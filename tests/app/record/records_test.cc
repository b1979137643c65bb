// Tests the files that a run writes besides history and checkpoints.
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/app/record/run_directory.h"
#include "tests/app/training_run_fixture.h"
#include "tests/data/foreign_software.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> event_files(const fs::path& folder) {
  std::vector<std::string> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().rfind("events.out.tfevents.", 0) == 0) {
      paths.push_back(entry.path().string());
    }
  }
  return paths;
}

class Records : public TrainingRunTest {};

TEST_F(Records, ARunHasEventFilesCurvesAndALogWithItsConfiguration) {
  TrainOptions options = this->options("run");
  options.logging.histograms_per_epoch = Fraction(1);
  ASSERT_EQ(run_training(options), 0);
  const fs::path run = folder_.path / "run";
  const std::vector<std::string> events = event_files(run);
  ASSERT_EQ(events.size(), 1u);
  const auto read = testing_support::run_command(
      PANDO_PYTHON " '" PANDO_SOURCE_DIR "/tests/store/event_check.py' '" + events[0] + "'");
  if (read.exit_code == 0) {
    EXPECT_SAYS(read.output, "\"step\": 3, \"summary\"");
    EXPECT_SAYS(read.output, "\"step\": 6, \"summary\"");
    EXPECT_SAYS(read.output, "loss/train");
    EXPECT_SAYS(read.output, "\"histo\"");
  }
  EXPECT_SAYS(folder_.read("run/curves.svg"), ">Accuracy<");
  const std::string log = folder_.read("run/log.txt");
  EXPECT_SAYS(log, "hyper-parameters: {model: mnist_cnn}\n");
  EXPECT_SAYS(log, "compilation time: ");
  EXPECT_SAYS(log, " MiB (");
  EXPECT_SAYS(folder_.read("run/history.csv"), ",memory_mib,memory_percent\n");
  EXPECT_FALSE(fs::exists(run / "wandb.jsonl"));
}

TEST_F(Records, TensorBoardCanBeOffAndWandbSaysThatNothingIsSent) {
  TrainOptions options = this->options("run");
  options.quiet = false;
  options.num_epochs = 1;
  options.logging.tensorboard = false;
  options.logging.wandb = true;
  ASSERT_EQ(run_training(options), 0);
  EXPECT_TRUE(event_files(folder_.path / "run").empty());
  EXPECT_SAYS(out_.str(), "--wandb", "nothing is sent", "wandb.jsonl");
  EXPECT_SAYS(folder_.read("run/wandb.jsonl"), "\"type\":\"row\",\"step\":3");
  EXPECT_SAYS(folder_.read("run/wandb.jsonl"), "\"type\":\"summary\",\"");
  EXPECT_EQ(out_.str().find("hyper-parameters"), std::string::npos);  // needs --verbose
}

TEST_F(Records, FilesOfAnEarlierRunMoveAside) {
  for (const char* name : {"wandb.jsonl", "curves.svg", "events.out.tfevents.1.host", "mine.txt"}) {
    fs::create_directories(folder_.path / "run");
    folder_.write(std::string("run/") + name, "x");
  }
  const RunDirectory directory({.path = folder_.path / "run", .model = "m", .config = ""});
  EXPECT_EQ(directory.previous(), folder_.path / "run/previous-1");
  EXPECT_TRUE(fs::exists(folder_.path / "run/previous-1/wandb.jsonl"));
  EXPECT_TRUE(fs::exists(folder_.path / "run/previous-1/events.out.tfevents.1.host"));
  EXPECT_TRUE(fs::exists(folder_.path / "run/mine.txt"));
}

// Counts the rows that it receives.
class CountingSink : public RowSink {
 public:
  CountingSink(int& rows, Logs& figures) : rows_(rows), figures_(figures) {}
  void write(const HistoryRow&) override { ++rows_; }
  void summarize(const Logs& figures) override { figures_ = figures; }

 private:
  int& rows_;
  Logs& figures_;
};

TEST_F(Records, SinksGetRowsAndFigures) {
  RunDirectory directory({.path = folder_.path / "run", .model = "m", .config = ""});
  int rows = 0;
  Logs figures;
  directory.append_history({.epoch = 1, .step = 1});
  directory.add_sink(std::make_unique<CountingSink>(rows, figures));
  directory.append_history({.epoch = 2, .step = 2});
  directory.summarize({{"best", 1}});
  EXPECT_EQ(rows, 1);
  EXPECT_EQ(figures, (Logs{{"best", 1}}));
}

}  // namespace
}  // namespace pando::app

#include "pando/app/html/run_record.h"

#include <limits>

#include "pando/app/record/run_directory.h"
#include "pando/base/error.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using testing_support::error_of;

constexpr const char* kHistory =
    "[\n{\"epoch\":1.0,\"step\":10,\"loss\":0.5,\"accuracy\":0.7,\"seconds\":1.0},\n"
    "{\"epoch\":1.0,\"step\":10,\"val_loss\":0.6,\"val_accuracy\":0.65},\n"
    "{\"epoch\":2.0,\"step\":20,\"val_loss\":0.4,\"val_accuracy\":0.8}\n]\n";

TEST(RunRecord, ReadsARunOfAnEarlierVersion) {
  const TestFolder folder;
  folder.write("config.yml", "model: mnist_cnn\ndataset: fashion_mnist\nseed: 3\nlist: [1, 2]\n");
  folder.write("history.json", kHistory);
  folder.write("log.txt", "a line\nstopped by SIGINT; saved x\n");
  const RunRecord run = read_run(folder.path);
  EXPECT_EQ(run.facts.model, "mnist_cnn");
  EXPECT_EQ(run.facts.seed, 3);
  EXPECT_EQ(run.summary.state, RunState::stopped);
  EXPECT_EQ(run.option("list"), "[1, 2]");
  EXPECT_EQ(run.option("none"), "");
  ASSERT_EQ(run.rows.size(), 3u);
  EXPECT_EQ(run.task().name, "classification");
  const BestValue best = best_value(run.rows, run.task()).value();
  EXPECT_EQ(best.value, 0.8);
  EXPECT_EQ(best.epoch, 2);
  EXPECT_TRUE(best.of_validation);
  EXPECT_TRUE(run.problems.empty());
  EXPECT_EQ(read_run(folder.path / "").name, run.name);
}

TEST(RunRecord, SaysHowAnEarlierRunEnded) {
  const TestFolder folder;
  folder.write("config.yml", "model: m\n");
  EXPECT_EQ(read_run(folder.path).summary.state, RunState::unknown);
  folder.write("log.txt", "failed: no space\n");
  EXPECT_EQ(read_run(folder.path).summary.state, RunState::failed);
  EXPECT_EQ(read_run(folder.path).summary.cause, "no space");
  folder.write("log.txt", "test loss: 1\ntime to train = 0:00:03\n");
  EXPECT_EQ(read_run(folder.path).summary.state, RunState::done);
}

// The end of a file that is being written, and files that a crash damaged.
TEST(RunRecord, LeavesOutWhatIsDamaged) {
  const TestFolder folder;
  const std::string history = kHistory;
  folder.write("history.json", history.substr(0, history.size() - 30));
  folder.write("config.yml", "model: [\n");
  folder.write("run.json", "{\"model\":");
  folder.write("summary.json", "{\"version\": 99}");
  const RunRecord run = read_run(folder.path);
  EXPECT_EQ(run.rows.size(), 2u);
  ASSERT_EQ(run.problems.size(), 4u);
  EXPECT_SAYS(run.problems[0], "config.yml");
  EXPECT_SAYS(run.problems[1], "run.json");
  EXPECT_SAYS(run.problems[2], "summary.json", "99");
  EXPECT_SAYS(run.problems[3], "history.json", "1 damaged line");
  folder.write("history.json", std::string("\0\x01\xff{]", 5));
  EXPECT_TRUE(read_run(folder.path).rows.empty());
}

TEST(RunRecord, TellsAKilledRunFromARunningOne) {
  const TestFolder folder;
  {
    const RunDirectory directory({.path = folder.path, .model = "m", .config = "seed: 1\n"});
    EXPECT_EQ(read_run(folder.path).summary.state, RunState::running);
    std::filesystem::copy(folder.path, folder.path / "copy");  // as a killed run leaves it
  }
  EXPECT_EQ(read_run(folder.path).summary.state, RunState::failed) << "it did not say how it ended";
  EXPECT_EQ(read_run(folder.path / "copy").summary.state, RunState::killed);
}

TEST(RunRecord, RefusesOtherFolders) {
  const TestFolder folder;
  EXPECT_SAYS(error_of<IoError>([&] { read_run(folder.path); }), "not the directory of a run",
              "config.yml");
  EXPECT_SAYS(error_of<IoError>([&] { read_run(folder.path / "none"); }), "none",
              "nothing of this name");
  folder.write("file", "");
  EXPECT_SAYS(error_of<IoError>([&] { read_run(folder.path / "file"); }), "a file");
}

TEST(RunRecord, BestValueFollowsTheTask) {
  HistoryRow row{.epoch = 1, .step = 1, .metric = 3.0, .metric_name = "mean_absolute_error"};
  HistoryRow other = row;
  other.epoch = 2;
  other.metric = 2.0;
  const Task& task = task_named("regression");
  const BestValue best = best_value({row, other}, task).value();
  EXPECT_EQ(best.value, 2);
  EXPECT_FALSE(best.of_validation);
  row.metric = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(best_value({row}, task).has_value());
}

}  // namespace
}  // namespace pando::app

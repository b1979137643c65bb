// Runs of a network that predicts numbers: its metric, its report, what is better.
// SPDX-License-Identifier: MIT
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/record/history_writer.h"
#include "pando/app/run/training_run.h"
#include "pando/base/json.h"
#include "pando/data/sources/cosmoflow.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using testing_support::error_of;

class RegressionRun : public testing::Test {
 protected:
  RegressionRun() {
    make_cosmoflow(folder_.path.string(), {.train = 12, .validation = 5, .shape = {32, 32, 32, 4}});
  }

  TrainOptions options(const std::string& run) const {
    TrainOptions options;
    options.model = "cosmoflow";
    options.data.dataset = "cosmoflow";
    options.data.dataset_path = folder_.path.string();
    options.num_epochs = 2;
    options.micro_batch_size = 4;
    options.slices = 2;
    options.run_dir = (folder_.path / run).string();
    options.config_text = "model: cosmoflow\n";
    options.quiet = true;
    return options;
  }
  std::string text_of(const std::string& file) const {
    std::ifstream stream(folder_.path / file);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  }
  std::vector<HistoryRow> history(const std::string& run) const {
    return read_history(folder_.path / run / "history.json", 1 << 20);
  }

  TestFolder folder_;
  std::ostringstream out_;
};

TEST_F(RegressionRun, RecordsAndReportsErrors) {
  ASSERT_EQ(run_training(options("run"), out_), kDone) << out_.str();
  EXPECT_SAYS(out_.str(), "test loss: ", "test mae: 0.");
  const std::string csv = text_of("run/history.csv");
  EXPECT_TRUE(csv.starts_with("epoch,step,loss,mae,throughput,")) << csv;
  EXPECT_SAYS(csv.substr(0, csv.find('\n')), "val_mae");
  const std::vector<HistoryRow> rows = history("run");
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].metric_name, "mae");
  EXPECT_TRUE(rows[0].metric.has_value());
  EXPECT_TRUE(rows.back().val_metric.has_value());
  EXPECT_SAYS(text_of("run/target_report.txt"), "target", "5 samples", "     3 ");
  const Json record = Json::parse(text_of("run/target_report.json"));
  ASSERT_EQ(record.at("targets").items().size(), 4u);
  EXPECT_EQ(record.at("targets").items()[0].at("points").items().size(), 5u);
  EXPECT_SAYS(text_of("run/targets.svg"), "<svg", "Target 3", "predicted");
  EXPECT_SAYS(text_of("run/curves.svg"), "Mae");
}

TEST_F(RegressionRun, ContinuesWithTheSameBits) {
  ASSERT_EQ(run_training(options("whole"), out_), kDone);
  TrainOptions first = options("parts");
  first.num_epochs = 1;
  ASSERT_EQ(run_training(first, out_), kDone);
  TrainOptions second = options("parts");
  second.checkpoints.resume = (folder_.path / "parts").string();
  ASSERT_EQ(run_training(second, out_), kDone) << out_.str();
  EXPECT_EQ(history("parts").back().val_metric, history("whole").back().val_metric);
}

TEST_F(RegressionRun, OtherTasksHaveOtherMetrics) {
  TrainOptions wrong = options("wrong");
  wrong.early_stopping.monitor = "val_accuracy";
  EXPECT_SAYS(error_of<UsageError>([&] { run_training(wrong, out_); }), "--early-stopping",
              "val_accuracy", "mae");
}

TEST_F(RegressionRun, ValidationMayBeCutOutOfTraining) {
  TrainOptions cut = options("cut");
  cut.data.validation_split = 0.25;
  cut.num_epochs = 1;
  ASSERT_EQ(run_training(cut, out_), kDone) << out_.str();
  EXPECT_SAYS(text_of("cut/target_report.txt"), "3 samples");
}

}  // namespace
}  // namespace pando::app

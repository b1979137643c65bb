// Runs of a network that finds a class for every pixel.
// SPDX-License-Identifier: MIT
#include <sstream>

#include <gtest/gtest.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/record/history_writer.h"
#include "pando/app/run/training_run.h"
#include "pando/base/json.h"
#include "pando/data/sources/make_shapes.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

using testing_support::error_of;

class SegmentationRun : public testing::Test {
 protected:
  SegmentationRun() { make_shapes(data(), {.train = 12, .validation = 5, .size = 32}); }

  std::string data() const { return (folder_.path / "data").string(); }
  TrainOptions options(const std::string& run) const {
    TrainOptions options;
    options.model = "unet_small";
    options.data.dataset = "image_folder";
    options.data.dataset_path = data();
    options.data.image_size = 16;
    options.num_epochs = 1;
    options.micro_batch_size = 4;
    options.slices = 2;
    options.run_dir = (folder_.path / run).string();
    options.config_text = "model: unet_small\n";
    options.quiet = true;
    return options;
  }

  TestFolder folder_;
  std::ostringstream out_;
};

TEST_F(SegmentationRun, MeasuresAndReportsTheOverlap) {
  ASSERT_EQ(run_training(options("run"), out_), kDone) << out_.str();
  EXPECT_SAYS(out_.str(), "test loss: ", "test mean_iou: ");
  const std::vector<HistoryRow> rows = read_history(folder_.path / "run" / "history.json", 1 << 20);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].metric_name, "mean_iou");
  EXPECT_TRUE(rows.back().val_metric.has_value());
  const std::string report = folder_.read("run/segmentation_report.txt");
  EXPECT_SAYS(report, "background", "circle", "square", "5 samples");
  // The report agrees with the metric, which the devices computed.
  char expected[64];
  std::snprintf(expected, sizeof expected, "mean IoU %.2f %%", 100 * *rows.back().val_metric);
  EXPECT_SAYS(report, std::string(expected));
  EXPECT_TRUE(folder_.read("run/segmentation.png").starts_with("\x89PNG"));
  const Json record = Json::parse(folder_.read("run/segmentation_report.json"));
  EXPECT_NEAR(record.get<double>("mean_iou"), *rows.back().val_metric, 1e-5);
  EXPECT_EQ(record.at("shown").at("samples").items().size(), 5u);  // all of them
  EXPECT_SAYS(folder_.read("run/class_names.txt"), "background\ncircle\nsquare\n");
}

TEST_F(SegmentationRun, TheLengthOfExecutionsDoesNotChangeFigures) {
  TrainOptions whole = options("whole"), steps = options("steps");
  steps.steps_per_execution = 1;
  ASSERT_EQ(run_training(whole, out_), kDone) << out_.str();
  ASSERT_EQ(run_training(steps, out_), kDone) << out_.str();
  const auto metric = [&](const char* run) {
    return read_history(folder_.path / run / "history.json", 1 << 20)[0].metric;
  };
  ASSERT_TRUE(metric("whole").has_value());
  EXPECT_EQ(metric("whole"), metric("steps"));
}

TEST_F(SegmentationRun, ModelsAndLabelsOfOtherTasksAreRefused) {
  TrainOptions wrong = options("wrong");
  wrong.model = "toy_model";
  EXPECT_SAYS(error_of<UsageError>([&] { run_training(wrong, out_); }), "toy_model",
              "classification", "segmentation", "unet_small");
}

TEST_F(SegmentationRun, SyntheticPicturesHaveMasks) {
  TrainOptions made_up = options("made_up");
  made_up.data.synthetic_data = SyntheticData::host;
  made_up.num_epochs = 1;
  made_up.weight_updates_per_epoch = 1;
  made_up.phases.validation = ValidationTime::off;
  EXPECT_EQ(run_training(made_up, out_), kDone);
}

}  // namespace
}  // namespace pando::app

#include "pando/app/record/tensorboard_sink.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/app/run/row_sinks.h"
#include "pando/base/strings.h"
#include "pando/nn/layers.h"
#include "pando/train/model.h"
#include "tests/data/foreign_software.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::app {
namespace {

using nlohmann::json;
using testing_support::TempFolder;

// Reads the records of the file with a foreign decoder; returns none if it is not installed.
std::vector<json> records_of(const std::filesystem::path& path) {
  const auto result = testing_support::run_command(
      PANDO_PYTHON " '" PANDO_SOURCE_DIR "/tests/store/event_check.py' '" + path.string() + "'");
  std::vector<json> records;
  for (const std::string& line : split(result.output, '\n')) {
    if (!line.empty()) records.push_back(json::parse(line));
  }
  return records;
}

TEST(TensorBoardSink, RowsBecomeScalarsInGroups) {
  const TempFolder folder;
  TensorBoardSink sink({.folder = folder.path(),
                        .config_text = "model: x\nseed: 1\n",
                        .resumed_step = std::nullopt});
  HistoryRow row{.epoch = 0.5, .step = 12, .loss = 0.25, .extra = {{"memory_mib", 64}}};
  row.val_metric = 0.75;
  sink.write(row);
  const std::vector<json> records = records_of(sink.path());
  if (records.empty()) GTEST_SKIP() << "no python3-protobuf or python3-crc32c";
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[1].at("summary").at("value").at(0).at("tensor").at("string_val").at(0),
            "    model: x\n    seed: 1\n    \n");
  EXPECT_EQ(records[2].at("step"), 12);
  EXPECT_EQ(records[2].at("summary"), json::parse(R"({"value": [
      {"tag": "loss/train", "simple_value": 0.25},
      {"tag": "accuracy/validation", "simple_value": 0.75},
      {"tag": "run/epoch", "simple_value": 0.5},
      {"tag": "run/memory_mib", "simple_value": 64.0}]})"));
}

TEST(TensorBoardSink, AResumedRunMakesTensorBoardForgetWhatComesAgain) {
  const TempFolder folder;
  const TensorBoardSink sink({.folder = folder.path(), .config_text = "", .resumed_step = 20});
  const std::vector<json> records = records_of(sink.path());
  if (records.empty()) GTEST_SKIP() << "no python3-protobuf or python3-crc32c";
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].at("step"), 21);
  EXPECT_EQ(records[1].at("session_log").at("status"), 1);
}

TEST(TensorBoardSink, HistogramsOfAllWeightsWhenTheyFallDue) {
  const TempFolder folder;
  TensorBoardSink sink({.folder = folder.path(), .config_text = "", .resumed_step = std::nullopt});
  Model model(Sequential({4}, {Dense({.units = 3})}));
  FitContext context{.model = &model};
  const auto callback = histogram_callback(
      sink, {.per_epoch = Fraction(1, 2), .updates_per_epoch = 10, .steps_per_update = 4});
  context.updates = 5;
  callback->on_train_begin(context);
  for (const int64_t updates : {15, 20, 25, 60}) {  // due at 20, 40 and 60
    context.updates = updates;
    callback->on_execution_end(context, {});
  }
  const std::vector<json> records = records_of(sink.path());
  if (records.empty()) GTEST_SKIP() << "no python3-protobuf or python3-crc32c";
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[1].at("step"), 80);
  EXPECT_EQ(records[2].at("step"), 240);
  const json& values = records[1].at("summary").at("value");
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].at("tag"), "weights/" + model.weight_names()[0]);
  EXPECT_EQ(values[0].at("histo").at("num"), 12);
  EXPECT_EQ(values[1].at("histo").at("num"), 3);
}

TEST(MakeRowSinks, AsTheFlagsSay) {
  const TempFolder folder;
  const SinkRequest request{.folder = folder.path(),
                            .model = "mnist_cnn",
                            .dataset = "mnist",
                            .config_text = "model: mnist_cnn\n",
                            .resumed_step = std::nullopt};
  LoggingFlags flags;
  flags.tensorboard = false;
  EXPECT_TRUE(make_row_sinks(flags, request).all.empty());
  EXPECT_EQ(folder.entries(), 0);
  flags.wandb = true;
  const RowSinks wandb = make_row_sinks(flags, request);
  ASSERT_EQ(wandb.notes.size(), 1u);
  EXPECT_SAYS(wandb.notes[0], "--wandb", "nothing is sent", folder.path("wandb.jsonl"));
  EXPECT_EQ(wandb.tensorboard, nullptr);
  EXPECT_NE(folder.read("wandb.jsonl").find("\"run_name\":\"mnist_cnn-mnist-"), std::string::npos);
  flags.tensorboard = true;
  flags.wandb_run_name = "mine";
  const RowSinks both = make_row_sinks(flags, request);
  EXPECT_EQ(both.all.size(), 2u);
  EXPECT_NE(both.tensorboard, nullptr);
  EXPECT_NE(folder.read("wandb.jsonl").find("\"run_name\":\"mine\""), std::string::npos);
}

}  // namespace
}  // namespace pando::app

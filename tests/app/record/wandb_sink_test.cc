#include "pando/app/record/wandb_sink.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pando/base/strings.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::app {
namespace {

using nlohmann::json;
using testing_support::TempFolder;

std::vector<json> lines_of(const TempFolder& folder) {
  std::vector<json> lines;
  for (const std::string& line : split(folder.read("wandb.jsonl"), '\n')) {
    if (!line.empty()) lines.push_back(json::parse(line));
  }
  return lines;
}

WandbOptions options_in(const TempFolder& folder) {
  return {.path = folder.path("wandb.jsonl"),
          .run_name = "mine",
          .tags = {"a", "b\xff"},  // not UTF-8
          .config_text = "model: mnist_cnn\nrate: 0.5\nsteps: 3\nshuffle: true\nx: ~\nl: [1, b]\n",
          .time = 86400,
          .resumed_step = std::nullopt};
}

TEST(WandbSink, ConfigurationRowsSummary) {
  const TempFolder folder;
  WandbSink sink(options_in(folder));
  sink.write({.epoch = 0.5, .step = 7, .loss = 2.5, .extra = {{"memory_mib", 12}}});
  sink.write({.epoch = 1, .step = 14, .loss = std::nan(""), .metric = 0.25});
  sink.summarize({{"best", 0.5}, {"epoch_to_target", 3}});
  sink.summarize({{"best", 0.75}});
  const std::vector<json> lines = lines_of(folder);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0], json::parse(R"({"type": "config", "time": "1970-01-02T00:00:00Z",
      "run_name": "mine", "tags": ["a", "b\ufffd"],
      "config": {"model": "mnist_cnn", "rate": 0.5, "steps": 3, "shuffle": true, "x": null,
                 "l": [1, "b"]}})"));
  EXPECT_EQ(lines[1], json::parse(R"({"type": "row", "step": 7, "epoch": 0.5, "loss": 2.5,
                                      "memory_mib": 12.0})"));
  EXPECT_EQ(lines[2], json::parse(R"({"type": "row", "step": 14, "epoch": 1.0, "loss": null,
                                      "accuracy": 0.25})"));
  EXPECT_EQ(lines[4], json::parse(R"({"type": "summary", "best": 0.75, "epoch_to_target": 3.0})"));
  EXPECT_EQ(folder.entries(), 1);
}

TEST(WandbSink, AResumedRunKeepsWhatStillHolds) {
  const TempFolder folder;
  {
    WandbSink sink(options_in(folder));
    sink.write({.epoch = 1, .step = 10, .loss = 3});
    sink.write({.epoch = 2, .step = 20, .loss = 2});
    sink.write({.epoch = 3, .step = 30, .loss = 1});
    sink.summarize({{"best", 1}});
  }
  const std::string cut = folder.read("wandb.jsonl") + "{\"type\": \"ro";
  folder.write_text("wandb.jsonl", cut);
  WandbOptions again = options_in(folder);
  again.resumed_step = 20;
  WandbSink sink(again);
  sink.write({.epoch = 3, .step = 30, .loss = 1.5});
  const std::vector<json> lines = lines_of(folder);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[2].at("step"), 20);
  EXPECT_EQ(lines[3].at("type"), "resume");
  EXPECT_EQ(lines[3].at("step"), 20);
  EXPECT_EQ(lines[4].at("loss"), 1.5);
}

TEST(WandbSink, ResumedWithoutAFileBeginsOne) {
  const TempFolder folder;
  WandbOptions options = options_in(folder);
  options.resumed_step = 20;
  const WandbSink sink(options);
  EXPECT_EQ(lines_of(folder).at(0).at("type"), "config");
}

TEST(WandbSink, NamesWhatItCannotWrite) {
  const TempFolder folder;
  WandbOptions options = options_in(folder);
  options.path = folder.path("missing/wandb.jsonl");
  EXPECT_SAYS(testing_support::error_of<IoError>([&] { WandbSink sink(options); }),
              "missing/wandb.jsonl");
}

TEST(WandbRunName, HasModelDataAndTime) {
  const std::string name = wandb_run_name("resnet50", "imagenet", 0);
  EXPECT_EQ(name.rfind("resnet50-imagenet-2", 0), 0u) << name;
  EXPECT_EQ(name.size(), std::string("resnet50-imagenet-20260101-120000").size());
}

}  // namespace
}  // namespace pando::app

#include "pando/app/record/run_summary.h"

#include <limits>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "tests/app/test_folder.h"
#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

RunSummary summary_in(const TestFolder& folder) { return parse_summary(folder.read(kSummaryFile)); }

HistoryRow trained(double epoch, double loss, double accuracy) {
  return {.epoch = epoch,
          .step = static_cast<int64_t>(epoch * 10),
          .loss = loss,
          .metric = accuracy,
          .throughput = 100,
          .seconds = epoch * 2};
}

HistoryRow validated(double epoch, double accuracy) {
  return {.epoch = epoch, .step = static_cast<int64_t>(epoch * 10), .val_metric = accuracy};
}

TEST(RunSummary, ComesBackFromItsText) {
  RunSummary summary;
  summary.facts = {.command = "validate",
                   .model = "a \"b\"\n</script>",
                   .dataset = "d",
                   .id = "1f",
                   .epochs = 3,
                   .instances = 2,
                   .replicas = 4,
                   .task = task_named("regression")};
  summary.state = RunState::stopped;
  summary.cause = "stopped by SIGINT";
  summary.started = 1.5e9;
  summary.best = {.value = 0.25, .epoch = 1.5, .of_validation = false};
  summary.last = {{"loss", 0.5}, {"mae", 0.125}};
  summary.curve = "loss";
  summary.points = {3, 2, 1};
  const RunSummary read = parse_summary(to_json_text(summary));
  EXPECT_EQ(read.facts.model, summary.facts.model);
  EXPECT_EQ(read.facts.command, "validate");
  EXPECT_EQ(read.facts.instances, 2);
  EXPECT_EQ(read.facts.replicas, 4);
  EXPECT_EQ(read.facts.task.metric, "mae");
  EXPECT_FALSE(read.facts.task.larger_is_better);
  EXPECT_EQ(read.state, RunState::stopped);
  EXPECT_EQ(read.cause, summary.cause);
  EXPECT_EQ(read.started, summary.started);
  ASSERT_TRUE(read.best);
  EXPECT_EQ(read.best->value, 0.25);
  EXPECT_FALSE(read.best->of_validation);
  EXPECT_EQ(read.last, summary.last);
  EXPECT_EQ(read.points, summary.points);
}

TEST(RunSummary, OtherTextsAreRefused) {
  const auto refused = [](const std::string& text) {
    return message_of<IoError>([&] { parse_summary(text); });
  };
  for (const char* text :
       {"", "{", "[]", "{}", "null", R"({"version": 1})", R"({"version": "1"})",
        R"({"version": 1, "state": 3})", R"({"version": 1, "state": "done", "points": [null]})",
        R"({"version": 1, "state": "done", "best": 3})",
        R"({"version": 1, "state": "done", "last": []})"}) {
    EXPECT_NE(refused(text), "") << text;
  }
  EXPECT_SAYS(refused(R"({"version": 2, "state": "done"})"), "version", "2", "later");
  EXPECT_SAYS(refused(R"({"version": 1, "state": "happy"})"), "state", "happy", "running");
  const std::string many = "[" + join(std::vector<std::string>(65, "1"), ",") + "]";
  EXPECT_SAYS(refused(R"({"version": 1, "state": "done", "points": )" + many + "}"), "64", "65");
  EXPECT_EQ(refused(R"({"version": 1, "state": "done"})"), "");
}

TEST(SummaryWriter, FollowsTheRows) {
  const TestFolder folder;
  SummaryWriter writer(
      {.folder = folder.path, .facts = {.model = "m", .epochs = 4, .instances = 3, .replicas = 6}});
  EXPECT_EQ(summary_in(folder).state, RunState::running);
  EXPECT_FALSE(summary_in(folder).best);
  writer.add(trained(1, 0.9, 0.5));
  ASSERT_TRUE(summary_in(folder).best);
  EXPECT_FALSE(summary_in(folder).best->of_validation);
  writer.add(validated(1, 0.4));  // counts more, though it is smaller
  EXPECT_TRUE(summary_in(folder).best->of_validation);
  writer.add(trained(2, 0.7, 0.8));
  writer.add(validated(2, 0.35));
  writer.end(RunState::done, "");
  const RunSummary summary = summary_in(folder);
  EXPECT_EQ(summary.state, RunState::done);
  EXPECT_EQ(summary.best->value, 0.4);
  EXPECT_EQ(summary.best->epoch, 1);
  EXPECT_EQ(summary.epoch, 2);
  EXPECT_EQ(summary.step, 20);
  EXPECT_EQ(summary.seconds, 4);
  EXPECT_EQ(summary.facts.instances, 3);
  EXPECT_EQ(summary.curve, "loss");
  EXPECT_EQ(summary.points, (std::vector<double>{0.9, 0.7}));
  const std::vector<std::pair<std::string, double>> last = {
      {"loss", 0.7}, {"accuracy", 0.8}, {"throughput", 100}, {"val_accuracy", 0.35}};
  EXPECT_EQ(summary.last.size(), last.size());
  for (const auto& value : last) {
    EXPECT_NE(std::ranges::find(summary.last, value), summary.last.end()) << value.first;
  }
}

TEST(SummaryWriter, SmallerIsBetterForErrors) {
  const TestFolder folder;
  SummaryWriter writer(
      {.folder = folder.path, .facts = {.model = "m", .task = task_named("regression")}});
  for (const double error : {3.0, 1.0, 2.0}) {
    HistoryRow row{.epoch = error, .val_metric = error};
    row.metric_name = "mae";
    writer.add(row);
  }
  EXPECT_EQ(summary_in(folder).best->value, 1);
  EXPECT_EQ(summary_in(folder).curve, "val_mae");  // there is no loss
}

TEST(SummaryWriter, NumbersThatAreNotFiniteAreLeftOut) {
  const TestFolder folder;
  SummaryWriter writer({.folder = folder.path, .facts = {.model = "m"}});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  writer.add({.epoch = 1, .loss = nan, .metric = nan, .val_metric = nan});
  const RunSummary summary = summary_in(folder);
  EXPECT_FALSE(summary.best);
  EXPECT_TRUE(summary.points.empty());
  EXPECT_TRUE(summary.last.empty());
}

TEST(SummaryWriter, WritesAtABoundedRate) {
  const TestFolder folder;
  SummaryWriter writer({.folder = folder.path,
                        .facts = {.model = "m"},
                        .interval = std::chrono::hours(1),
                        .burst = 3});
  for (int i = 1; i <= 100; ++i) writer.add(trained(i, 1, 0.5));
  EXPECT_EQ(summary_in(folder).epoch, 3);
  writer.end(RunState::failed, "broken");
  EXPECT_EQ(summary_in(folder).epoch, 100);
  EXPECT_EQ(summary_in(folder).cause, "broken");
}

TEST(SummaryWriter, WithoutAnEndTheRunHasFailed) {
  const TestFolder folder;
  { const SummaryWriter writer({.folder = folder.path, .facts = {.model = "m"}}); }
  EXPECT_EQ(summary_in(folder).state, RunState::failed);
  EXPECT_NE(summary_in(folder).cause, "");
}

TEST(SummaryWriter, ARunGoesOnWithoutItsFile) {
  const TestFolder folder;
  std::filesystem::create_directory(folder.path / "run");
  SummaryWriter writer({.folder = folder.path / "run", .facts = {.model = "m"}});
  std::filesystem::remove_all(folder.path / "run");
  writer.add(trained(1, 0.9, 0.5));
  EXPECT_SAYS(message_of<IoError>([&] { writer.end(RunState::done, ""); }), kSummaryFile);
  EXPECT_SAYS(message_of<IoError>(
                  [&] { SummaryWriter({.folder = folder.path / "run", .facts = {.model = "m"}}); }),
              kSummaryFile);
}

TEST(SummaryWriter, AResumedRunKeepsItsBestAndItsStart) {
  const TestFolder folder;
  folder.write(kSummaryFile, R"({"version": 1, "state": "stopped", "started": 1000})");
  EXPECT_EQ(start_in(folder.path), 1000);
  EXPECT_EQ(start_in(folder.path / "none"), 0);
  const SummaryWriter writer({.folder = folder.path,
                              .facts = {.model = "m"},
                              .started = start_in(folder.path),
                              .rows = {trained(1, 0.9, 0.5), validated(1, 0.6)}});
  const RunSummary summary = summary_in(folder);
  EXPECT_EQ(summary.state, RunState::running);
  EXPECT_EQ(summary.started, 1000);
  EXPECT_EQ(summary.best->value, 0.6);
  EXPECT_EQ(summary.points.size(), 1u);
}

}  // namespace
}  // namespace pando::app

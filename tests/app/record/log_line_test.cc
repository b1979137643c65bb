#include "pando/app/record/log_line.h"

#include <cmath>
#include <regex>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

// The patterns that the benchmark runner searches for in the output of a run.
const std::regex kThroughput(R"(throughput: *(.*?) samples\/sec)");
const std::regex kAccuracy(R"(accuracy: *(.*?) \%)");
const std::regex kLoss(R"(loss: *(\d*\.\d*))");

// The group of the first match; empty if there is none.
std::string first_match(const std::string& line, const std::regex& pattern) {
  std::smatch match;
  return std::regex_search(line, match, pattern) ? match[1].str() : "";
}

HistoryRow full_row() {
  return {.epoch = 1,
          .step = 938,
          .loss = 0.47211,
          .metric = 0.8281,
          .throughput = 17687.4,
          .learning_rate = 0.01,
          .seconds = 12,
          .extra = {{kMemoryColumn, 812.4}, {kMemoryShareColumn, 3.44}}};
}

TEST(LogLine, TextsOfEpochsAndValidations) {
  EXPECT_EQ(epoch_text(3), "3.0");
  EXPECT_EQ(epoch_text(2.9328), "2.9328");
  EXPECT_EQ(epoch_text(0), "0.0");
  HistoryRow row{.epoch = 1, .val_loss = 0.47621, .val_metric = 0.8279};
  EXPECT_EQ(validation_line(row), "validation epoch 1.0: accuracy: 82.79 %, loss: 0.4762");
  row.metric_name = "mae";
  EXPECT_EQ(validation_line(row), "validation epoch 1.0: mae: 0.8279, loss: 0.4762");
}

TEST(LogLine, HasEverythingThatIsKnown) {
  EXPECT_EQ(log_line(full_row()),
            "epoch 1.0: loss: 0.4721, training accuracy: 82.81 %, throughput: 17687 samples/sec, "
            "learning rate: 0.01, memory: 812 MiB (3.4 %)");
  HistoryRow validated{.epoch = 2.25};
  validated.val_loss = 0.5;
  validated.val_metric = 0.9289;
  EXPECT_EQ(log_line(validated), "epoch 2.25: val_loss: 0.5000, val_accuracy: 92.89 %");
  EXPECT_EQ(log_line({.epoch = 3}), "epoch 3.0");
}

TEST(LogLine, HasTheFactorOfLossScaling) {
  HistoryRow row{.epoch = 1, .loss = 0.5, .extra = {{kLossScalingColumn, 16384}}};
  EXPECT_EQ(log_line(row), "epoch 1.0: loss: 0.5000, loss scaling factor: 16384");
  EXPECT_EQ(first_match(log_line(row), kLoss), "0.5000");
}

TEST(LogLine, TheBenchmarkRunnerFindsItsNumbers) {
  const std::string line = log_line(full_row());
  EXPECT_EQ(first_match(line, kThroughput), "17687");
  EXPECT_EQ(first_match(line, kAccuracy), "82.81");
  EXPECT_EQ(first_match(line, kLoss), "0.4721");
}

TEST(LogLine, SmallAndLargeNumbersHaveNoExponent) {
  HistoryRow row = full_row();
  row.loss = 0.000012346;
  row.throughput = 0.4567;
  EXPECT_EQ(first_match(log_line(row), kLoss), "0.00001235");
  EXPECT_EQ(first_match(log_line(row), kThroughput), "0.46");
  row.loss = 1.5e9;
  row.throughput = 2.5e7;
  EXPECT_EQ(first_match(log_line(row), kLoss), "1500000000.0000");
  EXPECT_EQ(first_match(log_line(row), kThroughput), "25000000");
  row.loss = 0;
  EXPECT_EQ(first_match(log_line(row), kLoss), "0.0000");
  row.loss = 1e-30;
  EXPECT_EQ(first_match(log_line(row), kLoss), "0.0000000000");
}

TEST(LogLine, WhatIsNotFiniteIsToldAsSuch) {
  HistoryRow row = full_row();
  row.loss = std::nan("");
  row.metric = std::nan("");
  row.throughput = INFINITY;
  const std::string line = log_line(row);
  EXPECT_SAYS(line, "epoch 1.0: loss: nan, training accuracy: nan %, throughput: inf samples/sec");
  EXPECT_EQ(first_match(line, kLoss), "");
  EXPECT_EQ(first_match(line, kAccuracy), "nan");
}

TEST(LogLine, MemoryOfTheProcess) {
  HistoryRow row;
  add_memory(row);
  ASSERT_EQ(row.extra.size(), 2u);
  EXPECT_EQ(row.extra[0].first, kMemoryColumn);
  EXPECT_GT(row.extra[0].second, 1);
  EXPECT_GT(row.extra[1].second, 0);
  EXPECT_LT(row.extra[1].second, 100);
  EXPECT_SAYS(log_line(row), " MiB (");
}

TEST(HyperParametersLine, IsTheConfigurationOnOneLine) {
  EXPECT_EQ(hyper_parameters_line("# Training\nmicro-batch-size: 64   # default\nsplits: [a, b]\n"),
            "hyper-parameters: {micro-batch-size: 64, splits: [a, b]}");
}

}  // namespace
}  // namespace pando::app

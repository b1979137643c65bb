#include "pando/app/report/validation_summary.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace pando::app {
namespace {

using Checkpoints = std::vector<ValidatedCheckpoint>;

TEST(ValidationSummary, TheBestIsTheEarliestOfEqualOnes) {
  const Checkpoints some = {{1, 0.9, 0.5}, {2, 0.5, 0.75}, {3, 0.4, 0.75}, {4, 0.3, 0.7}};
  EXPECT_EQ(best_of(some, task_named("classification")).epoch, 2);
  EXPECT_EQ(best_of(some, task_named("classification")).loss, 0.5);
}

TEST(ValidationSummary, TheFirstThatReachesTheTarget) {
  const Checkpoints some = {{1, 0, 0.5}, {2.5, 0, 0.759}, {3, 0, 0.9}};
  EXPECT_EQ(epoch_to_target(some, 0.759, task_named("classification")), 2.5);
  EXPECT_EQ(epoch_to_target(some, 0.5, task_named("classification")), 1);
  EXPECT_EQ(epoch_to_target(some, 0.91, task_named("classification")), std::nullopt);
  EXPECT_EQ(epoch_to_target({}, 0.1, task_named("classification")), std::nullopt);
  const std::vector<ValidatedCheckpoint> first_last = {{2, 0.2, 0.9}, {1, 0.1, 0.9}};
  EXPECT_EQ(epoch_to_target(first_last, 0.9, task_named("classification")), 1);
}

// Computed by hand: 0.02 below the target gives exp(-1/2), 0.04 gives exp(-2); above the target
// only the epoch counts. Only the last checkpoint matters.
TEST(ValidationSummary, TheOptimizationMetric) {
  const auto metric = [](const Checkpoints& some) { return optimization_metric(some, 0.759); };
  EXPECT_DOUBLE_EQ(metric({{4, 0, 0.8}}).value(), 0.25);
  EXPECT_DOUBLE_EQ(metric({{4, 0, 0.759}}).value(), 0.25);
  EXPECT_NEAR(metric({{1, 0, 0.739}}).value(), 0.60653065971263342, 1e-12);
  EXPECT_NEAR(metric({{5, 0, 0.719}}).value(), 0.13533528323661270 / 5, 1e-12);
  EXPECT_NEAR(metric({{1, 0, 0.8}, {2, 0, 0.739}}).value(), 0.60653065971263342 / 2, 1e-12);
  EXPECT_FALSE(metric({}).has_value());
  EXPECT_FALSE(metric({{0, 0, 0.8}}).has_value());
}

TEST(ValidationSummary, TextOfTimes) {
  EXPECT_EQ(duration_text(0.4), "0:00:00");
  EXPECT_EQ(duration_text(59.6), "0:01:00");
  EXPECT_EQ(duration_text(3723), "1:02:03");
  EXPECT_EQ(duration_text(100 * 3600.0 + 61), "100:01:01");
}

}  // namespace
}  // namespace pando::app

// Tests of measuring a model. They do not compare times, only check that the results fit together.
// SPDX-License-Identifier: MIT
#include "pando/plan/measure.h"

#include <sstream>

#include <gtest/gtest.h>

#include "pando/plan/plan_options.h"

namespace pando::plan {
namespace {

PlanOptions small_options(const std::string& micro_batch = "8") {
  std::ostringstream out;
  const std::vector<std::string> args = {"--model",   "mnist_cnn",   "--micro-batch-size",
                                         micro_batch, "--instances", "2"};
  return *parse_plan_options(args, out);
}

double sum(const std::vector<Stage>& stages) {
  double seconds = 0;
  for (const Stage& stage : stages) seconds += stage.seconds.forward + stage.seconds.backward;
  return seconds;
}

double bytes(const std::vector<Stage>& stages) {
  double all = 0;
  for (const Stage& stage : stages) {
    for (const Gradient& gradient : stage.gradients) all += gradient.bytes;
  }
  return all;
}

TEST(Measure, MemoryHasRates) {
  const MemoryRates rates = measure_memory(1);
  EXPECT_GT(rates.copy, 0);
  EXPECT_GT(rates.sum, 0);
}

TEST(Measure, CallsAreThoseOfTheProgram) {
  const PlanOptions options = small_options();
  std::ostringstream progress;
  MeasuredCosts costs(options.train, {.seconds = 0.1, .progress = &progress});
  const int devices = costs.cores();
  const auto cost = costs.replica(devices, 1);
  ASSERT_TRUE(cost.has_value());
  const Measurement& found = costs.measured(devices);
  EXPECT_EQ(found.workers, 1);
  EXPECT_NE(progress.str().find("measuring"), std::string::npos);

  // The whole time of a step is in its one stage, besides packing and update.
  ASSERT_EQ(cost->stages.size(), 1U);
  EXPECT_GT(cost->stages[0].seconds.forward, 0);
  EXPECT_GT(cost->stages[0].seconds.backward, 0);
  EXPECT_NEAR(sum(cost->stages) + found.packing + found.update, found.seconds,
              1e-6 * found.seconds);

  // Gradients complete one after the other, and have as many bytes as the weights (plus alignment).
  const std::vector<Gradient>& gradients = cost->stages[0].gradients;
  ASSERT_GT(gradients.size(), 2U);
  for (size_t i = 1; i < gradients.size(); ++i) {
    EXPECT_LE(gradients[i].left, gradients[i - 1].left);
  }
  EXPECT_LE(gradients.front().left, cost->stages[0].seconds.backward);
  const double weights = 4.0 * static_cast<double>(costs.trainable_parameters());
  EXPECT_GE(bytes(cost->stages), weights);
  EXPECT_LE(bytes(cost->stages), 1.1 * weights + 4096);

  // Two stages do the same work together.
  const auto halves = costs.replica(devices, 2);
  ASSERT_TRUE(halves.has_value());
  EXPECT_EQ(halves->splits.size(), 1U);
  EXPECT_NEAR(sum(halves->stages), sum(cost->stages), 0.05 * sum(cost->stages));
  EXPECT_NEAR(bytes(halves->stages), bytes(cost->stages), 4096);
  EXPECT_GT(costs.device_bytes(devices, 1, 1), 0);
  EXPECT_GT(costs.device_bytes(devices, 2, 8), 0);
  EXPECT_GE(costs.shared_bytes(), 3 * weights);
  EXPECT_EQ(costs.moment_bytes(), 0);  // the model has no batch normalisation
  EXPECT_FALSE(costs.replica(devices, 1000).has_value());
}

// A call in tiles has an event for each tile; all of them count.
TEST(Measure, CallsInTilesSumToTheMeasuredTime) {
  const PlanOptions options = small_options("128");
  MeasuredCosts costs(options.train, {.seconds = 0.1});
  const int devices = costs.cores();
  const auto cost = costs.replica(devices, 1);
  ASSERT_TRUE(cost.has_value());
  const Measurement& found = costs.measured(devices);
  EXPECT_NEAR(sum(cost->stages) + found.packing + found.update, found.seconds,
              1e-6 * found.seconds);
}

}  // namespace
}  // namespace pando::plan

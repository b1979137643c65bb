#include "pando/app/report/class_samples.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pando/base/error.h"

namespace pando::app {
namespace {

TEST(ClassSamples, ConfidenceOfProbabilitiesAndLogits) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor outputs({4, 2}, std::vector<float>{0.25f, 0.75f, 3, 1, 0.5f, nan, 0.5f, 0.5f});
  const std::vector<int32_t> labels = {0, 0, 1, 1};
  const auto samples = classified_samples(outputs, labels, 1, 2);
  ASSERT_EQ(samples.size(), 3u);  // without the one that is not finite
  EXPECT_EQ(samples[0].index, 1);
  EXPECT_EQ(samples[0].predicted, 1);
  EXPECT_FLOAT_EQ(samples[0].confidence, 0.75f);
  EXPECT_EQ(samples[1].predicted, 0);
  EXPECT_NEAR(samples[1].confidence, 1 / (1 + std::exp(-2.0)), 1e-6);
  EXPECT_EQ(samples[2].index, 7);
  EXPECT_EQ(samples[2].predicted, 0);  // the first of equal ones
  EXPECT_THROW(classified_samples(outputs, std::vector<int32_t>{0}), Error);
}

// 100 samples of class 0 are right, 10 of class 1 are taken for 0.
std::vector<ClassifiedSample> two_cells() {
  std::vector<ClassifiedSample> samples;
  for (int64_t i = 0; i < 100; ++i) {
    samples.push_back({i, 0, 0, 0.5f + static_cast<float>(i) / 1000});
  }
  for (int64_t i = 100; i < 110; ++i) {
    samples.push_back({i, 1, 0, static_cast<float>(i) / 1000});
  }
  return samples;
}

TEST(ClassSamples, TakesSureMistakesAndSomeOfEveryCell) {
  const auto chosen = chosen_samples(
      two_cells(), {.samples = 600, .most_confident = 2, .per_mistake = 3, .per_hit = 4});
  ASSERT_EQ(chosen.size(), 7u);  // the sure mistakes are among the three of their cell
  EXPECT_EQ(chosen[0].index, 109);
  EXPECT_EQ(chosen[1].index, 108);
  EXPECT_EQ(chosen[2].index, 99);  // the surest hit: its cell has more samples
  EXPECT_EQ(std::ranges::count(chosen, 1, &ClassifiedSample::label), 3);
}

TEST(ClassSamples, IsBounded) {
  EXPECT_EQ(chosen_samples(two_cells(), {.samples = 5}).size(), 5u);
  EXPECT_TRUE(chosen_samples({}).empty());
}

}  // namespace
}  // namespace pando::app

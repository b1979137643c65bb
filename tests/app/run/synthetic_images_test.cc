#include "pando/app/run/synthetic_images.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace pando::app {
namespace {

TEST(SyntheticImages, RepeatTheirImages) {
  const TrainTest sets = synthetic_images(
      {.shape = {4, 5, 3}, .classes = 7, .train = 10, .test = 4, .distinct = 3, .seed = 1});
  EXPECT_EQ(sets.train.size(), 10);
  EXPECT_EQ(sets.test.size(), 4);
  EXPECT_EQ(sets.classes, 7);
  EXPECT_EQ(sets.train.fields()[0], (Field{"x", DType::u8, {4, 5, 3}}));
  const Sample first = sets.train.get(0);
  EXPECT_TRUE(std::ranges::equal(first.x().u8(), sets.train.get(9).x().u8()));
  EXPECT_FALSE(std::ranges::equal(first.x().u8(), sets.train.get(1).x().u8()));
  EXPECT_LT(first.y().i32()[0], 7);
}

TEST(SyntheticImages, ArePixelsAroundTheMiddle) {
  const TrainTest sets = synthetic_images({.shape = {64, 64, 3}, .train = 1, .test = 1});
  const Sample sample = sets.train.get(0);
  const auto pixels = sample.x().u8();
  const double mean =
      std::accumulate(pixels.begin(), pixels.end(), 0.0) / static_cast<double>(pixels.size());
  EXPECT_NEAR(mean, 127, 3);
  EXPECT_GE(*std::ranges::min_element(pixels), 127 - 120);
  EXPECT_LE(*std::ranges::max_element(pixels), 127 + 120);
}

}  // namespace
}  // namespace pando::app

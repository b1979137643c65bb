#include "pando/app/record/sparkline.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace pando::app {
namespace {

TEST(Sparkline, KeepsShortCurves) {
  Sparkline line;
  EXPECT_TRUE(line.empty());
  for (int i = 0; i < 64; ++i) line.add(i);
  ASSERT_EQ(line.points().size(), 64u);
  EXPECT_EQ(line.points()[63], 63);
  EXPECT_FALSE(line.empty());
}

TEST(Sparkline, LongOnesHaveMeansOfEqualParts) {
  Sparkline line;
  for (int i = 0; i < 65; ++i) line.add(i);
  ASSERT_EQ(line.points().size(), 33u);
  EXPECT_EQ(line.points()[0], 0.5);
  EXPECT_EQ(line.points()[31], 62.5);
  EXPECT_EQ(line.points()[32], 64);  // of the one that is left
  for (int i = 65; i < 100'000; ++i) {
    line.add(i);
    ASSERT_LE(line.points().size(), Sparkline::kMostPoints);
  }
  const std::vector<double> points = line.points();
  ASSERT_GT(points.size(), Sparkline::kMostPoints / 2);
  EXPECT_EQ(points[0], 1023.5);  // of 2048 values
  EXPECT_EQ(points[1], 2048 + 1023.5);
}

TEST(Sparkline, LeavesOutWhatIsNotFinite) {
  Sparkline line;
  line.add(std::numeric_limits<double>::quiet_NaN());
  line.add(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(line.empty());
  EXPECT_TRUE(line.points().empty());
}

}  // namespace
}  // namespace pando::app

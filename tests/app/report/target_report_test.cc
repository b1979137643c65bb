// SPDX-License-Identifier: MIT
#include "pando/app/report/target_report.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::app {
namespace {

// Two targets of three samples.
TargetValues some_values() {
  return {.targets = 2, .predicted = {1, 5, 2, 5, 6, 5}, .actual = {1, 4, 3, 5, 5, 6}};
}

TEST(TargetReport, FiguresOfEachTarget) {
  const std::vector<TargetFigures> figures = figures_of(some_values());
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_DOUBLE_EQ(figures[0].mean_error, 2.0 / 3);
  EXPECT_DOUBLE_EQ(figures[0].root_error, std::sqrt(2.0 / 3));
  EXPECT_DOUBLE_EQ(figures[0].r2, 1 - 2.0 / 8);
  EXPECT_DOUBLE_EQ(figures[0].error_of_mean, 4.0 / 3);
  EXPECT_DOUBLE_EQ(figures[1].r2, 0);  // it always gives the mean
}

TEST(TargetReport, TextAndPicture) {
  EXPECT_SAYS(to_text(some_values()), "0.6667", "0.7500", "3 samples");
  const std::string svg = targets_svg(some_values());
  EXPECT_SAYS(svg, "Target 0", "Target 1", "true", "predicted");
  const TargetValues many{
      .targets = 20, .predicted = std::vector<float>(40, 0), .actual = std::vector<float>(40, 1)};
  EXPECT_EQ(targets_svg(many).find("Target 8"), std::string::npos);
}

TEST(TargetReport, RecordHasErrorsAndSomePoints) {
  const Json record = target_record(some_values());
  EXPECT_EQ(record.get<int>("samples"), 3);
  const Json& second = record.at("targets").items()[1];
  EXPECT_EQ(second.get<double>("r2"), 0);
  EXPECT_EQ(second.at("points").dump(), "[[4.0,5.0],[5.0,5.0],[6.0,5.0]]");
  const TargetValues many{.targets = 9,
                          .predicted = std::vector<float>(9 * 2001, 1.0f / 3),
                          .actual = std::vector<float>(9 * 2001, NAN)};
  const Json long_record = target_record(many);
  const Json& points = long_record.at("targets").items()[7].at("points");
  EXPECT_EQ(points.items().size(), 667u);  // each third of 2001
  EXPECT_EQ(points.items()[0].dump(), "[null,0.33333]");
  EXPECT_TRUE(long_record.at("targets").items()[8].at("points").items().empty());
}

}  // namespace
}  // namespace pando::app

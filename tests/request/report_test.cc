#include "pando/request/report.h"

#include <gtest/gtest.h>

#include "pando/base/json.h"
#include "tests/support/expect_error.h"

namespace pando::request {
namespace {

LoadResult measured() {
  LoadResult result;
  result.seconds = 2;
  for (int i = 1; i <= 100; ++i) result.latencies.push_back(0.001 * i);
  result.errors["UNAVAILABLE"] = 3;
  result.texts["UNAVAILABLE"] = "gone";
  result.refusals = {0.001, 0.002, 0.003};
  return result;
}

TEST(RequestReport, HistogramHasAllAnswers) {
  int64_t sum = 0;
  for (const LatencyClass& one : histogram_of(measured())) sum += one.count;
  EXPECT_EQ(sum, 100);
  EXPECT_TRUE(histogram_of({}).empty());
  LoadResult same;
  same.latencies = {0.5, 0.5};
  EXPECT_EQ(histogram_of(same).front().count, 2);
}

TEST(RequestReport, Texts) {
  EXPECT_SAYS(percentile_text(measured()), "p50 50.00", "p99 99.00", "p99.9 100.0", "max 100.0");
  EXPECT_SAYS(percentile_text({}), "no answers");
  EXPECT_SAYS(error_text(measured()), "3 x UNAVAILABLE: gone",
              "Time to fail in ms: p50 2.000, p99 3.000, max 3.000");
  EXPECT_SAYS(histogram_text(measured()), "#", " ms |");
  EXPECT_SAYS(histogram_svg(measured()), "<svg", "100 answers", "</svg>");
}

TEST(RequestReport, Figures) {
  const Json json = Json::parse(result_json(measured(), 8));
  EXPECT_EQ(json.get<int64_t>("requests"), 103);
  EXPECT_EQ(json.get<double>("samples_per_second"), 400);
  EXPECT_EQ(json.at("errors").get<int64_t>("UNAVAILABLE"), 3);
  EXPECT_NEAR(json.at("latency_ms").get<double>("p50"), 50, 1e-9);
  EXPECT_NEAR(json.at("failure_ms").get<double>("p99"), 3, 1e-9);
}

}  // namespace
}  // namespace pando::request

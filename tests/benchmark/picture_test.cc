#include "pando/benchmark/picture.h"

#include <gtest/gtest.h>

#include "tests/app/expect_xml.h"
#include "tests/benchmark/results_of.h"

namespace pando::benchmark {
namespace {

TEST(Picture, HasAChartPerMetricAndOldValues) {
  const Benchmark first{.name = "<first>"};
  const Benchmark second{.name = "second"};
  const std::vector<VariantResult> results = {result_of(first, "throughput", {3, 4000}),
                                              result_of(second, "latency", {5})};
  Comparison comparison;
  comparison.rows.push_back({"second", "latency", true, Measured{7, 7, 7}, Measured{5, 5, 5}});
  const std::string svg = results_svg(results, &comparison);
  app::expect_xml(svg);
  for (const char* part : {"throughput (higher is better)", "latency (lower is better)",
                           "&lt;first&gt;", "before: 7", "5 (5 to 5)"}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(results_svg(results, nullptr).find("before:"), std::string::npos);
  app::expect_xml(results_svg({}, nullptr));
}

}  // namespace
}  // namespace pando::benchmark

#include "pando/serve/metrics.h"

#include <thread>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::serve {
namespace {

TEST(Metrics, TextHasTheFormOfPrometheus) {
  Metrics metrics;
  metrics.counter("b_total", "Requests.", {{"model", "a\"\\\n"}}).add(2);
  metrics.gauge("a_now", "Depth of\nthe queue.").set(-1.5);
  metrics.histogram("c_us", "Latency.", {1, 10}, {{"model", "m"}}).observe(10);
  EXPECT_EQ(metrics.text(),
            "# HELP a_now Depth of\\nthe queue.\n# TYPE a_now gauge\na_now -1.5\n"
            "# HELP b_total Requests.\n# TYPE b_total counter\n"
            "b_total{model=\"a\\\"\\\\\\n\"} 2\n"
            "# HELP c_us Latency.\n# TYPE c_us histogram\n"
            "c_us_bucket{model=\"m\",le=\"1\"} 0\nc_us_bucket{model=\"m\",le=\"10\"} 1\n"
            "c_us_bucket{model=\"m\",le=\"+Inf\"} 1\nc_us_sum{model=\"m\"} 10\n"
            "c_us_count{model=\"m\"} 1\n");
}

TEST(Metrics, ALabelledMetricIsMadeOnce) {
  Metrics metrics;
  Counter& one = metrics.counter("n", "", {{"m", "1"}});
  EXPECT_EQ(&one, &metrics.counter("n", "", {{"m", "1"}}));
  EXPECT_NE(&one, &metrics.counter("n", "", {{"m", "2"}}));
  EXPECT_SAYS(testing_support::error_of<InternalError>([&] { metrics.gauge("n", ""); }),
              "two kinds");
}

TEST(Metrics, GaugesMayBeAskedForWhenTheTextIsMade) {
  Metrics metrics;
  int depth = 3;
  metrics.before_text([&] { metrics.gauge("depth", "").set(depth); });
  EXPECT_TRUE(testing_support::says(metrics.text(), "depth 3\n"));
  depth = 4;
  EXPECT_TRUE(testing_support::says(metrics.text(), "depth 4\n"));
}

TEST(Metrics, OwnedMetricsGoWithTheLastOwner) {
  Metrics metrics;
  const MetricLabels version = {{"model", "m"}, {"version", "1"}};
  metrics.counter("n", "", {{"model", "m"}}).add(7);
  auto first = std::make_shared<int>();
  metrics.own(version, first);
  metrics.counter("n", "", version).add(3);
  metrics.gauge("g", "", version).set(1);
  metrics.histogram("h", "", {1}, version).observe(1);
  auto second = std::make_shared<int>();
  metrics.own(version, second);
  first.reset();
  EXPECT_TRUE(testing_support::says(metrics.text(), "n{model=\"m\",version=\"1\"} 3\n"));
  EXPECT_EQ(metrics.counter("n", "", version).value(), 3);
  second.reset();
  const std::string text = metrics.text();
  EXPECT_FALSE(testing_support::says(text, "version"));
  EXPECT_TRUE(testing_support::says(text, "n{model=\"m\"} 7\n"));
}

TEST(Metrics, ThreadsCountTogether) {
  Metrics metrics;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) {
          metrics.counter("n", "").add();
          metrics.histogram("h", "", {1}).observe(i % 2);
          if (i % 100 == 0) metrics.text();
        }
      });
    }
  }
  EXPECT_EQ(metrics.counter("n", "").value(), 2000);
  EXPECT_EQ(metrics.histogram("h", "", {1}).sum(), 1000);
}

TEST(Histogram, CountsValuesByTheirBucket) {
  Histogram histogram({10, 20, 40});
  for (int i = 0; i < 10; ++i) histogram.observe(15);
  histogram.observe(1000);
  EXPECT_EQ(histogram.counts(), (std::vector<int64_t>{0, 10, 0, 1}));
}

TEST(Histogram, BoundsGrowByAFactor) {
  const std::vector<double> bounds = exponential_bounds(10, 1.8, 33);
  EXPECT_EQ(bounds.size(), 33u);
  EXPECT_DOUBLE_EQ(bounds[2], 10 * 1.8 * 1.8);
  EXPECT_SAYS(testing_support::error_of<InternalError>([] { Histogram odd({2, 1}); }), "bounds");
}

}  // namespace
}  // namespace pando::serve

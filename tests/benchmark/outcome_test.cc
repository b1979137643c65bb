#include "pando/benchmark/outcome.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::benchmark {
namespace {

using testing_support::says_all;

Metric metric_of(const std::string& name, const std::string& regexp, int skip = 0,
                 const char* type = "mean") {
  Metric metric{.name = name, .regexp = regexp, .skip = skip, .reduction = &reduction(type, "")};
  metric.pattern = std::make_shared<const Pattern>(regexp, "");
  return metric;
}

std::vector<Outcome> measure(const Metrics& metrics, const std::string& output,
                             const Variant& variant = {.name = "v", .parameters = {}},
                             int processes = 1) {
  OutputScan scan(metrics.data);
  scan.take(Stream::out, output);
  scan.finish();
  return outcomes_of(metrics, scan, variant, processes);
}

// The original drops the worst values; the first ones are the warm-up.
TEST(Outcome, SkipsTheFirstValues) {
  const std::string output = "rate 100\nrate 2\nrate 4\n";
  const auto value = [&](const char* type) {
    return measure({.data = {metric_of("m", "rate (.*)", 1, type)}, .derived = {}}, output)[0]
        .value;
  };
  EXPECT_EQ(value("mean"), 3);
  EXPECT_EQ(value("final"), 4);
  EXPECT_EQ(value("value"), 2);
  EXPECT_EQ(value("max"), 4);
}

TEST(Outcome, MultipliesTheThroughputOfProcesses) {
  const Metrics metrics{.data = {metric_of("throughput", "t (.*)"), metric_of("loss", "l (.*)")},
                        .derived = {}};
  const auto all = measure(metrics, "t 5\nl 2\n", {.name = "v", .parameters = {}}, 4);
  EXPECT_EQ(all[0].value, 20);
  EXPECT_EQ(all[1].value, 2);
}

TEST(Outcome, DerivesFromMetricsAndParameters) {
  const Metrics metrics{
      .data = {metric_of("change", "c (.*)")},
      .derived = {{.name = "double", .expr = "2 * {change} - {change} ** {n}"},
                  {.name = "more", .expr = "{double} + 1", .reduction = "final"}}};
  const auto all = measure(metrics, "c -3\n", {.name = "v", .parameters = {{"n", "2"}}});
  EXPECT_EQ(all[1].value, -15);
  EXPECT_EQ(all[2].value, -14);
  EXPECT_EQ(all[2].reduction, "final");
}

TEST(Outcome, ReportsTheTimeOfCompiling) {
  const auto all = measure({}, "compilation time: 0.5 s\n");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "total_compiling_time");
  EXPECT_EQ(all[0].value, 0.5);
  EXPECT_FALSE(measure({}, "x")[0].value);
  const Metrics own{.data = {metric_of("total_compiling_time", "built in (.*)")}, .derived = {}};
  EXPECT_EQ(measure(own, "built in 3\ncompilation time: 1 s\n").size(), 1u);
}

TEST(Outcome, SaysWhyThereIsNoValue) {
  const auto failure = [](const Metric& metric, const std::string& output) {
    const auto all = measure({.data = {metric}, .derived = {}}, output);
    EXPECT_FALSE(all[0].value);
    return all[0].failure;
  };
  EXPECT_TRUE(says_all(failure(metric_of("m", "rate (.*)"), "a\nb\n"),
                       {"m:", "'rate (.*)'", "matches nothing in 2 lines"}));
  EXPECT_TRUE(says_all(failure(metric_of("m", "rate (.*)", 2), "rate 1\nrate 2\n"),
                       {"more than 2 values", "got 2"}));
  EXPECT_TRUE(says_all(failure(metric_of("m", "rate (.*)"), "rate 1\nrate nan\n"), {"nan"}));
  EXPECT_TRUE(says_all(failure(metric_of("m", "rate (.*)"), "rate inf\nrate 1\n"), {"inf"}));
  EXPECT_TRUE(says_all(failure(metric_of("m", "rate (.*)"), "rate x y\n"), {"a number", "'x y'"}));
  EXPECT_TRUE(
      says_all(failure(metric_of("m", "^(?:a|aa)+$"), std::string(5000, 'a') + "!"), {"too long"}));
  EXPECT_TRUE(says_all(failure(metric_of("m", "1"), std::string(1'000'001, '1')), {"1,000,000"}));
}

TEST(Outcome, SaysWhyNothingCanBeDerived) {
  const auto failure = [](const std::string& expr) {
    const Metrics metrics{.data = {metric_of("m", "rate (.*)")},
                          .derived = {{.name = "d", .expr = expr}}};
    return measure(metrics, "x\n")[1].failure;
  };
  EXPECT_TRUE(says_all(failure("{m} * 2"), {"d:", "'m' has no value"}));
  EXPECT_TRUE(says_all(failure("{n} * 2"), {"d:", "'n'"}));
  EXPECT_TRUE(says_all(failure("1 / 0"), {"d:", "divides by 0"}));
}

TEST(Outcome, LeavesOutMetricsThatNobodyRequires) {
  Metric metric = metric_of("m", "rate (.*)");
  metric.required = false;
  const Metrics metrics{.data = {metric},
                        .derived = {{.name = "d", .expr = "{m}", .required = false}}};
  for (const Outcome& one : measure(metrics, "x\n")) EXPECT_EQ(one.failure, "");
  EXPECT_EQ(missing_outcomes(metrics).size(), 3u);
}

}  // namespace
}  // namespace pando::benchmark

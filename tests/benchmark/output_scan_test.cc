#include "pando/benchmark/output_scan.h"

#include <cmath>

#include <gtest/gtest.h>

namespace pando::benchmark {
namespace {

using Values = std::vector<double>;

std::vector<Metric> metrics_of(const std::string& regexp) {
  Metric metric{.name = "m", .regexp = regexp, .reduction = &reduction("mean", "")};
  metric.pattern = std::make_shared<const Pattern>(regexp, "");
  return {metric};
}

TEST(OutputScan, JoinsPiecesOfLinesAndPutsStandardOutputFirst) {
  const auto metrics = metrics_of("rate (\\S+)");
  OutputScan scan(metrics);
  scan.take(Stream::err, "rate 3\n");
  scan.take(Stream::out, "rat");
  scan.take(Stream::out, "e 1\nrate 2e0\r\nrate ");
  scan.take(Stream::err, "rate 4");
  scan.take(Stream::out, "+2.5 rate nan\rrate 7");
  EXPECT_EQ(scan.found(0).values.size(), 5u);
  scan.finish();
  const Found found = scan.found(0);
  ASSERT_EQ(found.values.size(), 7u);
  EXPECT_EQ(Values(found.values.begin(), found.values.begin() + 3), (Values{1, 2, 2.5}));
  EXPECT_TRUE(std::isnan(found.values[3]));
  EXPECT_EQ(Values(found.values.begin() + 4, found.values.end()), (Values{7, 3, 4}));
  EXPECT_TRUE(found.no_number.empty());
  EXPECT_EQ(scan.lines(), 6);
}

TEST(OutputScan, KeepsTheLastLinesOfStandardError) {
  const std::vector<Metric> none;
  OutputScan scan(none);
  for (int i = 0; i < 30; ++i) scan.take(Stream::err, std::to_string(i) + "\n");
  scan.take(Stream::err, std::string(100000, 'x') + "\n");
  EXPECT_EQ(scan.last_errors().size(), 10u);
  EXPECT_EQ(scan.last_errors().front(), "21");
  EXPECT_EQ(scan.last_errors().back().size(), 500u);
}

TEST(OutputScan, ScansLinesOfAnyLength) {
  const auto metrics = metrics_of("([0-9]+)!");
  OutputScan scan(metrics);
  for (int i = 0; i < 100; ++i) scan.take(Stream::out, std::string(65536, 'x') + "7!");
  scan.finish();
  EXPECT_EQ(scan.found(0).values.size(), 100u);
}

TEST(OutputScan, NotesWhatIsNoNumber) {
  const auto metrics = metrics_of("rate (\\S+)");
  OutputScan scan(metrics);
  scan.take(Stream::out, "rate 1\nrate fast\nrate 1,000\n");
  EXPECT_EQ(scan.found(0).no_number, "'fast'");
}

TEST(OutputScan, FindsTheLongestCompilation) {
  const std::vector<Metric> none;
  OutputScan scan(none);
  EXPECT_FALSE(scan.compile_seconds());
  scan.take(Stream::out, "compilation time: 0.25 s\ncompilation time: 1.5 s\n");
  EXPECT_EQ(scan.compile_seconds(), 1.5);
}

TEST(OutputScan, HasALimitOfValues) {
  const auto metrics = metrics_of("1");
  OutputScan scan(metrics);
  scan.take(Stream::out, std::string(1'000'001, '1') + "\n");
  EXPECT_TRUE(scan.found(0).too_many);
  EXPECT_EQ(scan.found(0).values.size(), 1'000'000u);
}

}  // namespace
}  // namespace pando::benchmark

#include "pando/benchmark/result.h"

#include <gtest/gtest.h>

#include "pando/benchmark/valid_text.h"
#include "tests/benchmark/results_of.h"

namespace pando::benchmark {
namespace {

TEST(Result, IsTheMedianOfItsRepetitions) {
  const Benchmark benchmark{.name = "b", .path = "/s/b.yml"};
  const VariantResult result = result_of(benchmark, "throughput", {3, 9, 4});
  EXPECT_FALSE(result.has_failed());
  EXPECT_EQ(result.seconds(), 4);
  ASSERT_EQ(result.spreads().size(), 1u);
  EXPECT_EQ(result.spreads()[0].middle(), 4);
  EXPECT_EQ(result.spreads()[0].low(), 3);
  EXPECT_EQ(result.spreads()[0].high(), 9);
  const Json json = to_json(result);
  EXPECT_EQ(json.at("results").at("throughput").get<double>("mean"), 4);
  EXPECT_EQ(json.at("ranges").at("throughput").get<double>("high"), 9);
  EXPECT_EQ(json.at("repetitions").items().size(), 3u);
  EXPECT_EQ(json.get<std::string>("test_duration"), "4.000000");
}

TEST(Result, FailsIfOneRepetitionFailed) {
  const Benchmark benchmark{.name = "b", .path = "/s/b.yml", .notes = {"n"}};
  VariantResult result = result_of(benchmark, "throughput", {3});
  Repetition bad = failed_result(benchmark, "throughput", "broke").repetitions[0];
  bad.notes = {"m", "n"};
  result.repetitions.push_back(bad);
  EXPECT_TRUE(result.has_failed());
  EXPECT_EQ(result.failure(), "broke");
  EXPECT_EQ(result.code(), 3);
  EXPECT_EQ(result.spreads()[0].values, std::vector<double>{3});
  EXPECT_EQ(result.notes(), (std::vector<std::string>{"n", "m"}));
}

TEST(Result, HasTimesAsPythonWritesThem) {
  const std::string text = time_text();
  EXPECT_EQ(text.size(), 26u) << text;
  EXPECT_EQ(text[10], ' ');
  EXPECT_EQ(text[19], '.');
}

TEST(Result, TextsAreMadeValid) {
  EXPECT_EQ(valid_utf8("a\xff"
                       "é"),
            "a\xef\xbf\xbd"
            "é");
}

TEST(Result, KnowsTheMachine) {
  EXPECT_GE(machine_json().get<int>("cores"), 1);
  EXPECT_FALSE(machine_json().get<std::string>("processor").empty());
}

}  // namespace
}  // namespace pando::benchmark

#include "pando/benchmark/comparison.h"

#include <gtest/gtest.h>

#include "pando/benchmark/result_files.h"
#include "pando/options/usage_error.h"
#include "tests/benchmark/results_of.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::benchmark {
namespace {

using testing_support::error_of;
using testing_support::says_all;
using testing_support::TempFolder;
using Values = std::vector<double>;

const Benchmark& benchmark() {
  static const Benchmark one{.name = "b", .path = "/s/b.yml"};
  return one;
}

Verdict verdict(const std::string& metric, const Values& before, const Values& now,
                double limit = 5) {
  const TempFolder folder;
  const std::string path =
      folder.write_text("old.json", results_json({result_of(benchmark(), metric, before)}));
  const auto rows =
      compare({result_of(benchmark(), metric, now)}, load_old_results(path), limit).rows;
  EXPECT_EQ(rows.size(), 1u);
  return rows.at(0).verdict;
}

TEST(Comparison, JudgesByDirectionLimitAndSpread) {
  EXPECT_EQ(verdict("throughput", {100}, {96}), Verdict::same);
  EXPECT_EQ(verdict("throughput", {100}, {94}), Verdict::worse);
  EXPECT_EQ(verdict("throughput", {100}, {106}), Verdict::better);
  EXPECT_EQ(verdict("latency", {100}, {106}), Verdict::worse);
  EXPECT_EQ(verdict("latency", {100}, {94}), Verdict::better);
  EXPECT_EQ(verdict("throughput", {100}, {94}, 10), Verdict::same);
  EXPECT_EQ(verdict("throughput", {100}, {99.9}, 0), Verdict::worse);
  EXPECT_EQ(verdict("throughput", {100, 90, 110}, {80, 85, 95}), Verdict::unclear);
  EXPECT_EQ(verdict("throughput", {100, 98, 110}, {80, 85, 95}), Verdict::worse);
  EXPECT_EQ(verdict("throughput", {0}, {1}), Verdict::better);
  EXPECT_EQ(verdict("throughput", {0}, {0}), Verdict::same);
  EXPECT_EQ(verdict("change", {-10}, {-20}), Verdict::worse);
}

TEST(Comparison, CountsMissingValuesAndNotesOtherVariants) {
  const Benchmark other{.name = "other", .path = "/s/b.yml"};
  const TempFolder folder;
  const std::string path =
      folder.write_text("old.json", results_json({result_of(benchmark(), "throughput", {5}),
                                                  result_of(other, "throughput", {5})}));
  const Comparison found =
      compare({failed_result(benchmark(), "throughput", "broke")}, load_old_results(path), 5);
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.rows[0].verdict, Verdict::missing);
  EXPECT_EQ(found.regressions(), 1u);
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_TRUE(says_all(found.notes[0], {"1 variant", "did not run"}));
  EXPECT_TRUE(says_all(to_text(found, 5), {"b ", "throughput", "MISSING", "1 regression"}));
  EXPECT_EQ(to_json(found, 5).at("rows").items()[0].get<std::string>("verdict"), "missing");
  const Comparison added =
      compare({result_of(benchmark(), "new_one", {5})}, load_old_results(path), 5);
  EXPECT_EQ(added.rows.at(0).verdict, Verdict::added);
  EXPECT_EQ(added.regressions(), 0u);
}

// The form of the original: no spread, no machine, another reduction.
TEST(Comparison, ReadsResultsOfTheOriginal) {
  const TempFolder folder;
  const std::string path = folder.write_text("old.json", R"({"b": [{"variant_name": "b",
    "exitcode": 0, "results": {"throughput": {"final": 50.5}, "total_compiling_time":
    {"mean": null}}}]})");
  const OldResults old = load_old_results(path);
  EXPECT_EQ(old.metrics.size(), 1u);
  EXPECT_EQ(old.metrics.at({"b", "throughput"}).low, 50.5);
  const std::string foreign = folder.write_text("other.json", R"({"b": [{"variant_name": "b",
    "exitcode": 0, "results": {}, "machine": {"processor": "abacus"}}]})");
  const Comparison found =
      compare({result_of(benchmark(), "throughput", {1})}, load_old_results(foreign), 5);
  EXPECT_TRUE(says_all(found.notes.at(0), {"another machine", "abacus"}));
}

TEST(Comparison, RefusesWhatIsNoResults) {
  const TempFolder folder;
  const auto wrong = [&](const std::string& text) {
    const std::string path = folder.write_text("x.json", text);
    return error_of<UsageError>([&] { load_old_results(path); });
  };
  EXPECT_TRUE(says_all(wrong("{"), {"--compare", "x.json"}));
  EXPECT_TRUE(says_all(wrong("[]"), {"expected a", "benchmark_results.json"}));
  EXPECT_TRUE(says_all(wrong("{}"), {"has no results"}));
  EXPECT_TRUE(says_all(wrong(R"({"b": [{"exitcode": 0}]})"), {"variant_name"}));
  EXPECT_TRUE(says_all(wrong(R"({"b": [{"variant_name": "x", "exitcode": 0,
    "results": {"t": {"mean": "fast"}}}]})"),
                       {"x.json"}));
  EXPECT_TRUE(says_all(error_of<UsageError>([&] { load_old_results(folder.path("none")); }),
                       {"cannot open", "none"}));
  EXPECT_TRUE(says_all(error_of<UsageError>([&] { load_old_results(folder.path()); }), {"folder"}));
}

}  // namespace
}  // namespace pando::benchmark

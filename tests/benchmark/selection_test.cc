#include "pando/benchmark/selection.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "pando/options/usage_error.h"
#include "tests/support/expect_error.h"

namespace pando::benchmark {
namespace {

using testing_support::error_of;
using testing_support::says_all;
using Names = std::vector<std::string>;

class SelectionTest : public testing::Test {
 protected:
  void SetUp() override { unsetenv("DATASETS_DIR"); }

  static Benchmark made(const std::string& name, bool needs_datasets = false) {
    return {.name = name,
            .place = "f.yml:1:1",
            .path = "/s/f.yml",
            .cmd = "run " + name,
            .needs_datasets = needs_datasets};
  }
  Names names(const BenchmarkOptions& options) {
    Names names;
    for (const VariantResult& one : select_variants(benchmarks_, options)) {
      names.push_back(one.variant.name + (one.skipped.empty() ? "" : " (skipped)"));
    }
    return names;
  }

  std::vector<Benchmark> benchmarks_ = {made("common_options"), made("a_gen"), made("b_conv"),
                                        made("real", true)};
};

TEST_F(SelectionTest, LeavesOutOptionsConvergenceAndWhatNeedsData) {
  EXPECT_EQ(names({}), (Names{"a_gen", "real (skipped)"}));
  EXPECT_EQ(names({.include_convergence = true}), (Names{"a_gen", "b_conv", "real (skipped)"}));
  EXPECT_EQ(names({.benchmarks = {"b_conv", "a_gen", "b_conv"}}), (Names{"b_conv", "a_gen"}));
  setenv("DATASETS_DIR", "/data", 1);
  EXPECT_EQ(names({}), (Names{"a_gen", "real"}));
  unsetenv("DATASETS_DIR");
}

TEST_F(SelectionTest, SkipsWhatNeedsAProgramThatIsNotThere) {
  benchmarks_ = {made("a"), made("b"), made("c"), made("d")};
  benchmarks_[0].needs = {"sh", "/bin/sh"};
  benchmarks_[1].needs = {"sh", "no-such-program"};
  benchmarks_[2].needs = {"./none"};
  benchmarks_[3].location = "../bin";
  benchmarks_[3].needs = {"./sh"};
  EXPECT_EQ(names({}), (Names{"a", "b (skipped)", "c (skipped)", "d"}));
  EXPECT_TRUE(says_all(error_of<UsageError>([&] { names({.benchmarks = {"b"}}); }),
                       {"'b' needs 'no-such-program'"}));
}

TEST_F(SelectionTest, RefusesNamesThatCannotRun) {
  const auto wrong = [&](const std::string& name) {
    return error_of<UsageError>([&] { names({.benchmarks = {name}}); });
  };
  EXPECT_TRUE(says_all(wrong("a_gem"), {"--benchmark", "did you mean 'a_gen'"}));
  EXPECT_TRUE(says_all(wrong("common_options"), {"f.yml:1:1", "set of options"}));
  EXPECT_TRUE(says_all(wrong("real"), {"f.yml:1:1", "DATASETS_DIR"}));
  benchmarks_ = {made("b_conv")};
  EXPECT_TRUE(says_all(error_of<UsageError>([&] { names({}); }), {"--include-convergence"}));
}

TEST_F(SelectionTest, RefusesEqualNamesAndTooMany) {
  benchmarks_ = {made("a"), made("a_b_1")};
  benchmarks_[0].parameters = {.names = {"b"}, .rows = {}, .choices = {{"1"}}};
  EXPECT_TRUE(says_all(error_of<UsageError>([&] { names({}); }), {"'a_b_1'", "rename"}));
  benchmarks_ = {made("a"), made("b")};
  for (Benchmark& one : benchmarks_) {
    Names values;
    for (int i = 0; i < 600; ++i) values.push_back(std::to_string(i));
    one.parameters = {.names = {"x"}, .rows = {}, .choices = {values}};
  }
  EXPECT_TRUE(says_all(error_of<UsageError>([&] { names({}); }), {"1000", "--benchmark"}));
  benchmarks_ = {made("a")};
  benchmarks_[0].cmd = "sh -c 'open";
  EXPECT_TRUE(says_all(error_of<UsageError>([&] { names({}); }), {"f.yml:1:1", "unclosed"}));
}

TEST_F(SelectionTest, GivesEveryVariantAFolderOfItsOwn) {
  benchmarks_ = {made("a/b"), made("a:b"), made("../x"), made(std::string(300, 'y')),
                 made(std::string(301, 'y'))};
  Names folders;
  for (const VariantResult& one : select_variants(benchmarks_, {})) folders.push_back(one.folder);
  EXPECT_EQ(folders,
            (Names{"a_b", "a_b_2", "_.._x", std::string(200, 'y'), std::string(200, 'y') + "_2"}));
}

}  // namespace
}  // namespace pando::benchmark

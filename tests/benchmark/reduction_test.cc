#include "pando/benchmark/reduction.h"

#include <gtest/gtest.h>

#include "pando/options/usage_error.h"
#include "tests/support/expect_error.h"

namespace pando::benchmark {
namespace {

TEST(Reduction, ReducesByName) {
  const std::vector<double> values = {4, 1, 3, 8};
  const auto apply = [&](const char* name) { return reduction(name, "").apply(values); };
  EXPECT_EQ(apply("mean"), 4);
  EXPECT_EQ(apply("final"), 8);
  EXPECT_EQ(apply("value"), 4);
  EXPECT_EQ(apply("min"), 1);
  EXPECT_EQ(apply("max"), 8);
  EXPECT_EQ(apply("median"), 3.5);
  EXPECT_EQ(median({5, 1, 2}), 2);
}

TEST(Reduction, NamesTheNearest) {
  const std::string message =
      testing_support::error_of<UsageError>([] { reduction("meen", "f.yml:2:1"); });
  EXPECT_TRUE(testing_support::says_all(message, {"f.yml:2:1", "'meen'", "did you mean 'mean'"}));
}

}  // namespace
}  // namespace pando::benchmark

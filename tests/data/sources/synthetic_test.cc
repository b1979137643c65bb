#include "pando/data/sources/synthetic.h"

#include <gtest/gtest.h>

#include "tests/data/counting.h"

namespace pando {
namespace {

TEST(Synthetic, IsAFunctionOfTheSeed) {
  const SyntheticOptions options{.size = 10, .x_shape = {4, 4, 3}, .classes = 5, .distinct = 4};
  const Dataset a = synthetic(options);
  EXPECT_EQ(a.size(), 10);
  EXPECT_EQ(to_string(a.fields()), "x f32[4,4,3], y i32[]");
  EXPECT_EQ(difference(a.get(1).x(), synthetic(options).get(9).x()).absolute, 0);
  SyntheticOptions other = options;
  other.seed = 1;
  EXPECT_GT(difference(a.get(1).x(), synthetic(other).get(1).x()).absolute, 0);
  for (const int32_t label : labels(a)) {
    EXPECT_GE(label, 0);
    EXPECT_LT(label, 5);
  }
}

TEST(Synthetic, MakesTargetsWithoutClasses) {
  const Dataset set = synthetic({.size = 2, .x_shape = {3}, .classes = 0, .y_shape = {4}});
  EXPECT_EQ(to_string(set.fields()), "x f32[3], y f32[4]");
  EXPECT_THROW(synthetic({.size = 0}), InvalidArgument);
}

}  // namespace
}  // namespace pando

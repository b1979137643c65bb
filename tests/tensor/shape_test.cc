#include "pando/tensor/shape.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"

namespace pando {
namespace {

TEST(Shape, CountsElements) {
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ((Shape{2, 3, 4}).elements_from(1), 12);
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{2, 0}).elements(), 0);
  EXPECT_EQ(to_string(Shape{2, 3}), "[2,3]");
}

TEST(Shape, RefusesNegativeAndOverflow) {
  EXPECT_THROW((Shape{2, -1}).elements(), InvalidArgument);
  EXPECT_THROW((Shape{int64_t{1} << 40, int64_t{1} << 40}).elements(), InvalidArgument);
}

}  // namespace
}  // namespace pando

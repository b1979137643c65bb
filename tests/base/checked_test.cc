// SPDX-License-Identifier: MIT
#include "pando/base/checked.h"

#include <limits>

#include <gtest/gtest.h>

namespace pando {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(Checked, ProductsAndSumsThatFit) {
  EXPECT_EQ(product_of({}), 1);
  EXPECT_EQ(product_of({3, -4, 5}), -60);
  EXPECT_EQ(product_of({kMost, 1}), kMost);
  EXPECT_EQ(sum_of({1, 2, -4}), -1);
  EXPECT_EQ(checked_product("size", {6, 7}), 42);
}

TEST(Checked, ProductsAndSumsThatDoNot) {
  EXPECT_EQ(product_of({int64_t{1} << 32, int64_t{1} << 31}), std::nullopt);
  EXPECT_EQ(sum_of({kMost, 1}), std::nullopt);
  try {
    checked_product("size", {kMost, 2});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("size: 9223372036854775807 x 2"), std::string::npos);
  }
}

}  // namespace
}  // namespace pando

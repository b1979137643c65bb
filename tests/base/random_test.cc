#include "pando/base/random.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace pando {
namespace {

// Known answers published with the Random123 library for Philox 4x32-10.
TEST(Random, PhiloxKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Random, StreamsRepeatAndDiffer) {
  RandomStream a(1), b(1), c(2);
  const uint32_t first = a.next_word();
  EXPECT_EQ(first, b.next_word());
  EXPECT_NE(first, c.next_word());
}

TEST(Random, AStreamIsItsBlocks) {
  const uint64_t key = 0x123456789abcdef0;
  RandomStream random(key);
  for (uint32_t block = 0; block < 100; ++block) {
    for (const uint32_t word : philox({block, 0, 0, 0}, key)) {
      ASSERT_EQ(random.next_word(), word) << "block " << block;
    }
  }
}

TEST(Random, NormalHasTheRightMoments) {
  RandomStream random(7);
  double sum = 0, squares = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double value = static_cast<double>(random.next_normal());
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
}

TEST(Random, TruncatedNormalStaysWithinTwo) {
  RandomStream random(7);
  for (int i = 0; i < 10000; ++i) EXPECT_LE(std::abs(random.next_truncated_normal()), 2.0f);
}

TEST(Random, PermutationIsAPureFunctionOfTheKey) {
  auto order = random_permutation(1000, 3);
  EXPECT_EQ(order, random_permutation(1000, 3));
  EXPECT_NE(order, random_permutation(1000, 4));
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

}  // namespace
}  // namespace pando

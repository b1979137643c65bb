#include "pando/nn/recommended_splits.h"

#include <gtest/gtest.h>

#include "pando/nn/layers.h"

namespace pando {
namespace {

using Names = std::vector<std::string>;

// Weights: a 4x4+4 = 20, b 4x4+4 = 20, c 4x10+10 = 50, d 10x1 = 10; 100 in all.
Network weighted_chain() {
  return Sequential({4}, {Dense({.units = 4, .name = "a"}), ReLU({.name = "relu"}),
                          Dense({.units = 4, .name = "b"}), Dense({.units = 10, .name = "c"}),
                          Dense({.units = 1, .use_bias = false, .name = "d"})});
}

TEST(RecommendedSplits, FollowTheSizesOfWeights) {
  EXPECT_EQ(recommended_splits(weighted_chain(), 1), Names{});
  EXPECT_EQ(recommended_splits(weighted_chain(), 2), Names{"c"});  // 40 before it, 90 with it
  EXPECT_EQ(recommended_splits(weighted_chain(), 3), (Names{"b", "c"}));  // 33.3 and 66.7
}

TEST(RecommendedSplits, ALayerThatCompletesTwoSharesStandsOnce) {
  // Each share is 20. Layer a reaches the first but is the first layer; b reaches the second; c
  // reaches the third and the fourth.
  EXPECT_EQ(recommended_splits(weighted_chain(), 5), (Names{"b", "c"}));
}

}  // namespace
}  // namespace pando

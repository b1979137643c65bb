#include "pando/compiler/layer_names.h"

#include <gtest/gtest.h>

namespace pando::compiler {
namespace {

TEST(LayerNames, FindsTheLayerOfANode) {
  const LayerNames names({"conv", "block/conv", "dense"});
  EXPECT_EQ(names.find("conv"), 0);
  EXPECT_EQ(names.find("conv/grad"), 0);
  EXPECT_EQ(names.find("conv/kernel"), 0);
  EXPECT_EQ(names.find("block/conv/bias/grad"), 1);
  EXPECT_EQ(names.find("loss"), -1);
  EXPECT_EQ(names.find("block"), -1);
  EXPECT_EQ(names.find(""), -1);
}

TEST(LayerNames, NodesOfNoLayerKeepTheirNames) {
  const LayerNames names({"dense"});
  EXPECT_EQ(names.name_of("dense/kernel/grad"), "dense");
  EXPECT_EQ(names.name_of("loss/grad"), "loss");
  EXPECT_EQ(names.name_of("a/b"), "a/b");
}

TEST(LayerNames, KnowsBackward) {
  EXPECT_TRUE(LayerNames::is_backward("dense/grad"));
  EXPECT_FALSE(LayerNames::is_backward("dense"));
  EXPECT_FALSE(LayerNames::is_backward("gradient"));
}

}  // namespace
}  // namespace pando::compiler

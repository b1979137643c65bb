#include "pando/nn/network_builder.h"

#include <gtest/gtest.h>

#include "pando/nn/layers.h"
#include "tests/support/expect_error.h"

namespace pando::nn {
namespace {

TEST(NetworkBuilder, OneInputPerWeight) {
  const LayerInfo info{.name = "a",
                       .weights = {{"kernel", {2, 3}, Zeros()}, {"mean", {3}, Zeros(), 0.9}}};
  ir::Graph graph;
  NetworkBuilder builder(graph, true);
  builder.begin_layer(info, true);
  ir::Value* kernel = builder.weight("kernel");
  EXPECT_EQ(builder.weight("kernel"), kernel);
  EXPECT_EQ(kernel->name(), "a/kernel");
  EXPECT_EQ(kernel->role(), ir::InputRole::variable);
  EXPECT_EQ(builder.weight("mean")->role(), ir::InputRole::state);
  EXPECT_THROW(builder.weight("gamma"), InternalError);
}

TEST(NetworkBuilder, SharedBatchNormalizationMovesOnceForEachCall) {
  const SymbolicTensor x = Input({4});
  const Layer norm = BatchNormalization({.name = "bn"});
  const NetworkGraph built = Network(x, norm(norm(x))).build({.batch = 2, .training = true});
  int statistics = 0;
  for (const ir::Output& output : built.graph.outputs()) {
    statistics += output.role == ir::OutputRole::statistic ? 1 : 0;
  }
  EXPECT_EQ(statistics, 4);
}

}  // namespace
}  // namespace pando::nn

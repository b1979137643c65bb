#include "pando/ops/flops.h"

#include <gtest/gtest.h>

#include "tests/support/run_graph.h"

namespace pando::ops {
namespace {

// The flops of the only node of a graph with these inputs.
double flops_of(const std::string& inputs, const std::string& node) {
  const ir::Graph graph = test::typed_graph(concat("graph(", inputs, ") { ", node, " return }"));
  return flops(*graph.nodes().at(0));
}

TEST(Flops, ConvolutionAndItsGradientsAreTheSameWork) {
  const double work = 2.0 * 5 * (13 * 13) * (3 * 3) * 4 * 8;
  const std::string shapes = R"({strides=[2,2], padding="same")";
  EXPECT_EQ(flops_of("x: f32[5,26,26,4] feed, k: f32[3,3,4,8] variable",
                     "y = conv(x, k) " + shapes + "}"),
            work);
  EXPECT_EQ(flops_of("dy: f32[5,13,13,8] feed, k: f32[3,3,4,8] variable",
                     "dx = conv_input_grad(dy, k) " + shapes + ", input=[26,26]}"),
            work);
  EXPECT_EQ(flops_of("x: f32[5,26,26,4] feed, dy: f32[5,13,13,8] feed",
                     "dk = conv_filter_grad(x, dy) " + shapes + ", filter=[3,3]}"),
            work);
}

TEST(Flops, ATransposedConvolutionIsItsInputGradient) {
  EXPECT_EQ(flops_of("x: f32[5,13,13,8] feed, k: f32[2,2,4,8] variable",
                     "y = conv_transpose(x, k) {strides=[2,2], output=[26,26]}"),
            2.0 * 5 * (13 * 13) * (2 * 2) * 4 * 8);
}

TEST(Flops, GroupsAndDepthCount) {
  EXPECT_EQ(flops_of("x: f32[2,5,5,4] feed, k: f32[3,3,1,8] variable",
                     R"(y = conv(x, k) {groups=4, padding="same"})"),
            2.0 * 2 * 25 * 9 * 1 * 8);
  EXPECT_EQ(flops_of("x: f32[1,4,4,4,2] feed, k: f32[2,2,2,2,3] variable", "y = conv(x, k)"),
            2.0 * 27 * 8 * 2 * 3);
}

// The convolution before the pooling is larger than its result.
TEST(Flops, APooledConvolutionIsAWholeOne) {
  EXPECT_EQ(flops_of("x: f32[3,6,6,1] feed, k: f32[3,3,1,2] variable",
                     "y, i = conv_pool(x, k) {window=[2,2]}"),
            2.0 * 3 * 16 * 9 * 2);
}

TEST(Flops, DenseAndItsGradientsAreTheSameWork) {
  const double work = 2.0 * 6 * 10 * 3;
  EXPECT_EQ(flops_of("x: f32[6,10] feed, k: f32[10,3] variable", "y = dense(x, k)"), work);
  EXPECT_EQ(flops_of("dy: f32[6,3] feed, k: f32[10,3] variable", "dx = dense_input_grad(dy, k)"),
            work);
  EXPECT_EQ(flops_of("x: f32[6,10] feed, dy: f32[6,3] feed", "dk = dense_filter_grad(x, dy)"),
            work);
}

TEST(Flops, OthersMoveMemoryOnly) {
  EXPECT_EQ(flops_of("x: f32[6,10] feed", "y = relu(x)"), 0);
  EXPECT_EQ(flops_of("x: f32[6,10] feed", "y = softmax(x)"), 0);
}

}  // namespace
}  // namespace pando::ops

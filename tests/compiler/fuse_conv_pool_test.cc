#include <gtest/gtest.h>

#include "tests/compiler/pass_testing.h"

namespace pando::compiler {
namespace {

TEST(FuseConvPool, PoolsInsideTheConvolution) {
  expect_rewrite<FuseConvPool>(
      R"(graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable, b: f32[4] variable) {
    c = conv(x, k, b) {activation="relu"} @c1
    y, i = max_pool(c) {window=[2,2]}
    return result y=y, result i=i })",
      R"(graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable, b: f32[4] variable) {
    y, i = conv_pool(x, k, b) {activation="relu", window=[2,2]} @c1
    return result y=y, result i=i })");
}

TEST(FuseConvPool, KeepsTheConvolutionsName) {
  CompileState state = typed_state(R"(graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable) {
    c = conv(x, k) @block1/c2
    y, i = max_pool(c) {window=[2,2]} @pool
    return result y=y })");
  EXPECT_TRUE(FuseConvPool().run(state));
  EXPECT_EQ(state.graph.nodes()[0]->label(), "conv_pool 'block1/c2'");
}

TEST(FuseConvPool, SamePaddingThatPadsNothing) {
  expect_rewrite<FuseConvPool>(R"(graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable) {
    c = conv(x, k) {padding="same", strides=[1,1]}
    y, i = max_pool(c) {window=[2,2], strides=[2,2], padding="same"}
    return result y=y })",
                               R"(graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable) {
    y, i = conv_pool(x, k) {padding="same", strides=[1,1], window=[2,2]}
    return result y=y })");
}

// The gradient of the pooling still reads the index.
TEST(FuseConvPool, ThreeDimensionsWithGradient) {
  expect_rewrite<FuseConvPool>(
      R"(graph(x: f32[1,5,5,5,1] feed, k: f32[2,2,2,1,4] variable, dy: f32[1,2,2,2,4] feed) {
    c = conv(x, k)
    y, i = max_pool(c) {window=[2,2,2]}
    d = max_pool_grad(dy, i) {input=[4,4,4], window=[2,2,2]}
    return result y=y, result d=d })",
      R"(graph(x: f32[1,5,5,5,1] feed, k: f32[2,2,2,1,4] variable, dy: f32[1,2,2,2,4] feed) {
    y, i = conv_pool(x, k) {window=[2,2,2]}
    d = max_pool_grad(dy, i) {input=[4,4,4], window=[2,2,2]}
    return result y=y, result d=d })");
}

// A convolution and its pooling, with the pooling's attributes as given.
std::string with_pool(const std::string& attributes) {
  return "graph(x: f32[2,9,9,3] feed, k: f32[3,3,3,4] variable) {"
         "  c = conv(x, k)"
         "  y, i = max_pool(c) {" +
         attributes + "} return result y=y }";
}

TEST(FuseConvPool, LeavesOverlappingWindows) {
  expect_unchanged<FuseConvPool>(with_pool("window=[3,3], strides=[2,2]"));
}

TEST(FuseConvPool, LeavesPaddedWindows) {
  expect_unchanged<FuseConvPool>(with_pool("window=[2,2], padding=\"same\""));
  expect_unchanged<FuseConvPool>(with_pool("window=[2,2], padding=\"explicit\", pads=[0,0,1,1]"));
  expect_unchanged<FuseConvPool>(with_pool("window=[2,2], ceil_mode=1"));
}

TEST(FuseConvPool, LeavesAResultThatIsUsedTwice) {
  expect_unchanged<FuseConvPool>(R"(graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable) {
    c = conv(x, k)
    y, i = max_pool(c) {window=[2,2]}
    z = relu(c)
    return result y=y, result z=z })");
}

TEST(FuseConvPool, LeavesAResultThatIsAnOutput) {
  expect_unchanged<FuseConvPool>(R"(graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable) {
    c = conv(x, k)
    y, i = max_pool(c) {window=[2,2]}
    return result y=y, result c=c })");
}

TEST(FuseConvPool, LeavesPoolingOfOtherThings) {
  expect_unchanged<FuseConvPool>(R"(graph(x: f32[2,8,8,3] feed) {
    y, i = max_pool(x) {window=[2,2]}
    z = avg_pool(x) {window=[2,2]}
    return result y=y, result z=z })");
}

TEST(FuseConvPool, NotAcrossStages) {
  expect_unchanged<FuseConvPool>(R"(graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable) {
    c = conv(x, k) {padding="same"}
    y, i = max_pool(c) {window=[2,2]} ^1
    return result y=y })");
}

}  // namespace
}  // namespace pando::compiler

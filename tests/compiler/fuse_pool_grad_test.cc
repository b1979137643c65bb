#include <gtest/gtest.h>

#include "tests/compiler/pass_testing.h"

namespace pando::compiler {
namespace {

TEST(FusePoolGrad, MasksByThePooledValues) {
  expect_rewrite<FusePoolGrad>(R"(graph(x: f32[2,4,4,3] feed, dy: f32[2,2,2,3] feed) {
    c = relu(x)
    y, i = max_pool(c) {window=[2,2]}
    d = max_pool_grad(dy, i) {input=[4,4], window=[2,2]}
    dc = relu_grad(d, c)
    return result y=y, result dc=dc })",
                               R"(graph(x: f32[2,4,4,3] feed, dy: f32[2,2,2,3] feed) {
    c = relu(x)
    y, i = max_pool(c) {window=[2,2]}
    dc = max_pool_grad(dy, i, y) {activation="relu", input=[4,4], window=[2,2]}
    return result y=y, result dc=dc })");
}

TEST(FusePoolGrad, LeakyReluAndOverlappingWindows) {
  expect_rewrite<FusePoolGrad>(R"(graph(x: f32[2,5,5,3] feed, dy: f32[2,2,2,3] feed) {
    c = leaky_relu(x) {alpha=0.25}
    y, i = max_pool(c) {window=[3,3], strides=[2,2]}
    d = max_pool_grad(dy, i) {input=[5,5], window=[3,3], strides=[2,2]}
    dc = leaky_relu_grad(d, c) {alpha=0.25}
    return result dc=dc })",
                               R"(graph(x: f32[2,5,5,3] feed, dy: f32[2,2,2,3] feed) {
    c = leaky_relu(x) {alpha=0.25}
    y, i = max_pool(c) {window=[3,3], strides=[2,2]}
    dc = max_pool_grad(dy, i, y) {activation="leaky_relu", alpha=0.25, input=[5,5], window=[3,3],
                                  strides=[2,2]}
    return result dc=dc })");
}

// The gradient of max_pool knows no other masks.
TEST(FusePoolGrad, LeavesRelu6) {
  expect_unchanged<FusePoolGrad>(R"(graph(x: f32[2,4,4,3] feed, dy: f32[2,2,2,3] feed) {
    c = relu6(x)
    y, i = max_pool(c) {window=[2,2]}
    d = max_pool_grad(dy, i) {input=[4,4], window=[2,2]}
    dc = relu6_grad(d, c)
    return result y=y, result dc=dc })");
}

TEST(FusePoolGrad, LeavesAGradientThatIsUsedTwice) {
  expect_unchanged<FusePoolGrad>(R"(graph(x: f32[2,4,4,3] feed, dy: f32[2,2,2,3] feed) {
    c = relu(x)
    y, i = max_pool(c) {window=[2,2]}
    d = max_pool_grad(dy, i) {input=[4,4], window=[2,2]}
    dc = relu_grad(d, c)
    e = add(dc, d)
    return result e=e })");
}

TEST(FusePoolGrad, LeavesAGradientThatIsAnOutput) {
  expect_unchanged<FusePoolGrad>(R"(graph(x: f32[2,4,4,3] feed, dy: f32[2,2,2,3] feed) {
    c = relu(x)
    y, i = max_pool(c) {window=[2,2]}
    d = max_pool_grad(dy, i) {input=[4,4], window=[2,2]}
    dc = relu_grad(d, c)
    return result dc=dc, result d=d })");
}

TEST(FusePoolGrad, LeavesAMaskThatIsNotWhatWasPooled) {
  expect_unchanged<FusePoolGrad>(R"(graph(x: f32[2,4,4,3] feed, dy: f32[2,2,2,3] feed) {
    c = relu(x)
    e = scale(c) {factor=2.0}
    y, i = max_pool(e) {window=[2,2]}
    d = max_pool_grad(dy, i) {input=[4,4], window=[2,2]}
    dc = relu_grad(d, c)
    return result dc=dc })");
}

TEST(FusePoolGrad, LeavesAveragePooling) {
  expect_unchanged<FusePoolGrad>(R"(graph(x: f32[2,4,4,3] feed, dy: f32[2,2,2,3] feed) {
    c = relu(x)
    d = avg_pool_grad(dy) {input=[4,4], window=[2,2]}
    dc = relu_grad(d, c)
    return result dc=dc })");
}

}  // namespace
}  // namespace pando::compiler

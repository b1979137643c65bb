// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "tests/compiler/pass_testing.h"

namespace pando::compiler {
namespace {

constexpr const char* kPooledInputs =
    "graph(x: f32[1,4,4,4,3] feed, k: f32[2,2,2,3,5] feed, dy: f32[1,2,2,2,5] feed, "
    "i: u8[1,2,2,2,5] feed, y: f32[1,2,2,2,5] feed) {\n";

std::string graph(const std::string& body) { return kPooledInputs + body + "}"; }

TEST(FuseConvPoolGrad, GoesBackAtOnce) {
  expect_rewrite<FuseConvPoolGrad>(graph(R"(
    d = max_pool_grad(dy, i, y) {activation="leaky_relu", alpha=0.25, input=[4,4,4], window=[2,2,2]}
    dx = conv_input_grad(d, k) {input=[4,4,4], padding="same"} @c
    dk, db = conv_filter_grad(x, d) {filter=[2,2,2], padding="same"} @c
    return result dx=dx, result dk=dk, result db=db )"),
                                   graph(R"(
    dx = conv_pool_input_grad(dy, i, k, y) {activation="leaky_relu", alpha=0.25, input=[4,4,4],
                                            padding="same", window=[2,2,2]} @c
    dk, db = conv_pool_filter_grad(x, dy, i, y) {activation="leaky_relu", alpha=0.25,
                                            filter=[2,2,2], padding="same", window=[2,2,2]} @c
    return result dx=dx, result dk=dk, result db=db )"));
}

TEST(FuseConvPoolGrad, OfTheKernelAloneAndWithoutActivation) {
  expect_rewrite<FuseConvPoolGrad>(graph(R"(
    d = max_pool_grad(dy, i) {input=[4,4,4], padding="same", window=[2,2,2]}
    dk = conv_filter_grad(x, d) {filter=[2,2,2], padding="same"}
    return result dk=dk )"),
                                   graph(R"(
    dk = conv_pool_filter_grad(x, dy, i) {activation="none", filter=[2,2,2], padding="same",
                                          window=[2,2,2]}
    return result dk=dk )"));
}

TEST(FuseConvPoolGrad, LeavesWhatItCannotDo) {
  const auto expect_left = [](const std::string& body) {
    expect_unchanged<FuseConvPoolGrad>(graph(body));
  };
  expect_left(R"(d = max_pool_grad(dy, i) {input=[4,4,4], window=[2,2,2]}
    dk = conv_filter_grad(x, d) {filter=[2,2,2], padding="same"}
    return result dk=dk, result d=d )");  // another reader of d
  expect_left(R"(d = max_pool_grad(dy, i) {input=[4,4,4], window=[2,2,2]}
    r = relu(d)
    dk = conv_filter_grad(x, d) {filter=[2,2,2], padding="same"}
    return result dk=dk, result r=r )");
  expect_left(R"(d = max_pool_grad(dy, i) {input=[4,4,4], strides=[2,2,2], window=[1,1,1]}
    dk = conv_filter_grad(x, d) {filter=[2,2,2], padding="same"}
    return result dk=dk )");  // windows with gaps between them
  expect_left(R"(d = max_pool_grad(dy, i) {input=[3,3,3], padding="same", window=[2,2,2]}
    dk = conv_filter_grad(x, d) {filter=[2,2,2]}
    return result dk=dk )");  // windows that are padded
  expect_left(R"(d = max_pool_grad(dy, i) {input=[4,4,4], window=[2,2,2]}
    dx = conv_input_grad(d, k) {input=[8,8,8], padding="same", strides=[2,2,2]}
    return result dx=dx )");
}

TEST(FuseConvPoolGrad, LeavesWhatTheDenseKernelsDoBetter) {
  const std::string text = graph(R"(
    d = max_pool_grad(dy, i) {input=[4,4,4], window=[2,2,2]}
    dk = conv_filter_grad(x, d) {filter=[2,2,2], padding="same"}
    return result dk=dk )");
  CompileState limited = typed_state(text);
  limited.options.scratch_limits = {1024};
  EXPECT_FALSE(FuseConvPoolGrad().run(limited));
  CompileState partials = typed_state(text);
  partials.options.precision.compute = DType::f16;
  partials.options.half.half_partials = true;
  EXPECT_FALSE(FuseConvPoolGrad().run(partials));
  partials.options.half.half_partials = false;
  EXPECT_TRUE(FuseConvPoolGrad().run(partials));
}

TEST(FuseConvPoolGrad, LeavesSmallWindows) {
  expect_unchanged<FuseConvPoolGrad>(
      R"(graph(x: f32[1,4,4,3] feed, dy: f32[1,2,2,5] feed, i: u8[1,2,2,5] feed) {
    d = max_pool_grad(dy, i) {input=[4,4], window=[2,2]}
    dk = conv_filter_grad(x, d) {filter=[3,3], padding="same"}
    return result dk=dk })");
}

// The last windows of ceil mode reach behind the convolution's result.
TEST(FuseConvPoolGrad, LeavesPartialWindows) {
  const auto volumes = [](const std::string& attributes) {
    return concat("graph(x: f32[1,5,5,5,3] feed, dy: f32[1,3,3,3,4] feed, i: u8[1,3,3,3,4] feed) {",
                  " d = max_pool_grad(dy, i) {input=[5,5,5], window=[2,2,2], ", attributes, "}",
                  " dk = conv_filter_grad(x, d) {filter=[3,3,3], padding=\"same\"}",
                  " return result dk=dk }");
  };
  expect_unchanged<FuseConvPoolGrad>(volumes("ceil_mode=1"));
  expect_unchanged<FuseConvPoolGrad>(volumes("padding=\"same\""));
}

}  // namespace
}  // namespace pando::compiler

#include <gtest/gtest.h>

#include "tests/compiler/pass_testing.h"

namespace pando::compiler {
namespace {

std::string residual_graph(const std::string& body) {
  return "graph(x: f32[2,8,8,4] feed, r: f32[2,8,8,4] feed, k: f32[1,1,4,4] variable,"
         "      q: f32[1,1,4,4] variable, h: f32[1,1,2,4] variable, b: f32[4] variable) {" +
         body + "}";
}

TEST(FuseResidual, EitherSummand) {
  for (const char* sum : {"add(c, r)", "add(r, c)"}) {
    expect_rewrite<FuseResidual>(residual_graph(std::string("c = conv(x, k, b) {padding=\"same\"}"
                                                            "s = ") +
                                                sum + "y = relu(s) return result y=y"),
                                 residual_graph(R"(
    s = conv(x, k, b, r) {padding="same"}
    y = relu(s)
    return result y=y)"));
  }
}

TEST(FuseResidual, TheLaterOfTwoConvolutionsTakesTheOther) {
  expect_rewrite<FuseResidual>(residual_graph(R"(
    c = conv(x, k, b)
    d = conv(r, q, b)
    y = add(c, d) {activation="relu"}
    return result y=y)"),
                               residual_graph(R"(
    c = conv(x, k, b)
    y = conv(r, q, b, c) {activation="relu"}
    return result y=y)"));
}

// The residual is computed after the convolution, which therefore moves to the place of the sum.
TEST(FuseResidual, ThePlaceIsThatOfTheSum) {
  expect_rewrite<FuseResidual>(residual_graph(R"(
    c = conv(x, k, b)
    t = relu(r)
    y = add(c, t)
    return result y=y)"),
                               residual_graph(R"(
    t = relu(r)
    y = conv(x, k, b, t)
    return result y=y)"));
}

TEST(FuseResidual, SumsOfSums) {
  expect_rewrite<FuseResidual>(residual_graph(R"(
    c = conv(x, k, b)
    d = conv(r, q, b)
    s = add(c, d)
    y = add(s, x)
    return result y=y)"),
                               residual_graph(R"(
    c = conv(x, k, b)
    s = conv(r, q, b, c)
    y = add(s, x)
    return result y=y)"));
}

TEST(FuseResidual, LeavesASumThatRepeatsAnOperand) {
  expect_unchanged<FuseResidual>(
      "graph(x: f32[2,8,8,4] feed, r: f32[2,1,1,4] feed, k: f32[1,1,4,4] variable,"
      "      b: f32[4] variable) { c = conv(x, k, b) y = add(c, r) return result y=y }");
}

TEST(FuseResidual, LeavesAConvolutionThatIsUsedTwiceOrReturned) {
  expect_unchanged<FuseResidual>(residual_graph(R"(
    c = conv(x, k, b)
    y = add(c, r)
    z = relu(c)
    return result y=y, result z=z)"));
  expect_unchanged<FuseResidual>(residual_graph(R"(
    c = conv(x, k, b)
    y = add(c, r)
    return result y=y, result c=c)"));
  expect_unchanged<FuseResidual>(residual_graph(R"(
    c = conv(x, k, b)
    y = add(c, c)
    return result y=y)"));
}

TEST(FuseResidual, LeavesOtherConvolutions) {
  for (const char* conv : {"conv(x, k)", "conv(x, k, b) {activation=\"relu\"}",
                           "conv(x, h, b) {groups=2}", "relu(x)"}) {
    expect_unchanged<FuseResidual>(
        residual_graph(std::string("c = ") + conv + "y = add(c, r) return result y=y"));
  }
}

TEST(FuseResidual, NotAcrossStages) {
  expect_unchanged<FuseResidual>(residual_graph(R"(
    c = conv(x, k, b)
    y = add(c, r) ^1
    return result y=y)"));
}

TEST(FuseResidual, LeavesTraining) {
  expect_unchanged<FuseResidual>(residual_graph(R"(
    c = conv(x, k, b)
    y = add(c, r)
    s = loss_seed() {batch=2}
    return result y=y, result s=s)"));
}

TEST(FuseResidual, NotWithHalfPartials) {
  CompileState state = typed_state(residual_graph(R"(
    c = conv(x, k, b)
    y = add(c, r)
    return result y=y)"));
  state.options.precision = {DType::f16, DType::f16};
  state.options.half.half_partials = true;
  EXPECT_FALSE(FuseResidual().run(state));
}

// The kernels of conv_pool add no residual.
TEST(FuseResidual, PoolingStaysApart) {
  expect_unchanged<FuseConvPool>(residual_graph(R"(
    c = conv(x, k, b, r)
    y, i = max_pool(c) {window=[2,2]}
    return result y=y)"));
}

}  // namespace
}  // namespace pando::compiler

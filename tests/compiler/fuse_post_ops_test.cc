#include <gtest/gtest.h>

#include "tests/compiler/pass_testing.h"

namespace pando::compiler {
namespace {

TEST(FusePostOps, ReluIntoConv) {
  expect_rewrite<FusePostOps>(R"(graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable) {
    c = conv(x, k) {padding="same"}
    y = relu(c)
    return result y=y })",
                              R"(graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable) {
    y = conv(x, k) {activation="relu", padding="same"}
    return result y=y })");
}

TEST(FusePostOps, LeakyReluWithItsSlopeIntoDense) {
  expect_rewrite<FusePostOps>(R"(graph(x: f32[2,3] feed, k: f32[3,4] variable) {
    c = dense(x, k)
    y = leaky_relu(c) {alpha=0.125}
    return result y=y })",
                              R"(graph(x: f32[2,3] feed, k: f32[3,4] variable) {
    y = dense(x, k) {activation="leaky_relu", alpha=0.125}
    return result y=y })");
}

TEST(FusePostOps, DefaultSlopeIsWrittenOut) {
  expect_rewrite<FusePostOps>(R"(graph(a: f32[2,3] feed, b: f32[2,3] feed) {
    c = add(a, b)
    y = leaky_relu(c)
    return result y=y })",
                              R"(graph(a: f32[2,3] feed, b: f32[2,3] feed) {
    y = add(a, b) {activation="leaky_relu", alpha=0.3}
    return result y=y })");
}

TEST(FusePostOps, EveryCurveWithItsNumbers) {
  constexpr std::string_view kImage = "graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable) {";
  const auto fuses = [&](const std::string& activation, const std::string& given,
                         const std::string& fused) {
    expect_rewrite<FusePostOps>(
        concat(kImage, "c = conv(x, k) y = ", activation, "(c) ", given, " return result y=y }"),
        concat(kImage, "y = conv(x, k) {activation=\"", activation, "\"", fused,
               "} return result y=y }"));
  };
  for (const char* plain : {"sigmoid", "tanh", "selu", "softplus", "mish"}) fuses(plain, "", "");
  fuses("elu", "{alpha=0.5}", ", alpha=0.5");
  fuses("gelu", "", ", approximate=0.0");
  fuses("gelu", "{approximate=1.0}", ", approximate=1.0");
  expect_unchanged<FusePostOps>(
      concat(kImage, "c = conv(x, k) y = hard_sigmoid(c) return result y=y }"));
}

// No other op can take over the gradient of a curve.
TEST(FusePostOps, CurvesKeepTheirGradients) {
  for (const char* curve : {"sigmoid", "tanh", "elu", "selu"}) {
    expect_unchanged<FusePostOps>(
        concat("graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable, dy: f32[2,6,6,4] feed) {",
               "c = conv(x, k) y = ", curve, "(c) d = ", curve,
               "_grad(dy, y) return result y=y, result d=d }"));
  }
}

// The gradient of swish reads what swish is applied to; in inference nothing else does.
TEST(FusePostOps, SwishInInferenceOnly) {
  expect_rewrite<FusePostOps>(R"(graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable) {
    c = conv(x, k)
    y = swish(c)
    return result y=y })",
                              R"(graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable) {
    y = conv(x, k) {activation="swish"}
    return result y=y })");
  expect_unchanged<FusePostOps>(
      R"(graph(x: f32[2,8,8,3] feed, k: f32[3,3,3,4] variable, dy: f32[2,6,6,4] feed) {
    c = conv(x, k)
    y = swish(c)
    d = swish_grad(dy, c)
    return result y=y, result d=d })");
}

TEST(FusePostOps, NotAcrossStages) {
  expect_unchanged<FusePostOps>(R"(graph(x: f32[2,3] feed, k: f32[3,4] variable) {
    c = dense(x, k)
    y = relu(c) ^1
    return result y=y })");
  expect_rewrite<FusePostOps>(R"(graph(x: f32[2,3] feed, k: f32[3,4] variable) {
    c = dense(x, k) ^1
    y = relu(c) ^1
    return result y=y })",
                              R"(graph(x: f32[2,3] feed, k: f32[3,4] variable) {
    y = dense(x, k) {activation="relu"} ^1
    return result y=y })");
}

TEST(FusePostOps, BackwardReadsTheFusedResult) {
  expect_rewrite<FusePostOps>(
      R"(graph(x: f32[2,4] feed, m: f32[4] state, v: f32[4] state, g: f32[4] variable,
               b: f32[4] variable, dy: f32[2,4] feed) {
    n = batch_norm(x, m, v, g, b)
    y = relu(n)
    d = relu_grad(dy, y)
    return result y=y, result d=d })",
      R"(graph(x: f32[2,4] feed, m: f32[4] state, v: f32[4] state, g: f32[4] variable,
               b: f32[4] variable, dy: f32[2,4] feed) {
    y = batch_norm(x, m, v, g, b) {activation="relu"}
    d = relu_grad(dy, y)
    return result y=y, result d=d })");
}

TEST(FusePostOps, LeavesAResultThatIsUsedTwice) {
  expect_unchanged<FusePostOps>(R"(graph(a: f32[2,3] feed, b: f32[2,3] feed) {
    c = add(a, b)
    y = relu(c)
    z = add(y, c)
    return result z=z })");
}

TEST(FusePostOps, LeavesAResultThatIsAnOutput) {
  expect_unchanged<FusePostOps>(R"(graph(a: f32[2,3] feed, b: f32[2,3] feed) {
    c = add(a, b)
    y = relu(c)
    return result y=y, result c=c })");
}

TEST(FusePostOps, LeavesANodeThatHasAnActivation) {
  expect_unchanged<FusePostOps>(R"(graph(a: f32[2,3] feed, b: f32[2,3] feed) {
    c = add(a, b) {activation="relu"}
    y = leaky_relu(c)
    return result y=y })");
}

TEST(FusePostOps, OnlyTheFirstOfTwoActivations) {
  expect_rewrite<FusePostOps>(R"(graph(a: f32[2,3] feed, b: f32[2,3] feed) {
    c = add(a, b)
    y = relu(c)
    z = leaky_relu(y)
    return result z=z })",
                              R"(graph(a: f32[2,3] feed, b: f32[2,3] feed) {
    y = add(a, b) {activation="relu"}
    z = leaky_relu(y)
    return result z=z })");
}

TEST(FusePostOps, LeavesOtherOpsAndOtherActivations) {
  expect_unchanged<FusePostOps>(R"(graph(a: f32[2,3] feed, b: f32[2,3] feed) {
    c = multiply(a, b)
    y = relu(c)
    d = add(y, b)
    z = hard_sigmoid(d)
    w = relu(a)
    return result z=z, result w=w })");
}

}  // namespace
}  // namespace pando::compiler

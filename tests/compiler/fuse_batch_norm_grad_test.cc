#include <gtest/gtest.h>

#include "tests/compiler/pass_testing.h"

namespace pando::compiler {
namespace {

constexpr std::string_view kInputs =
    R"(graph(x: f32[2,4] feed, dy: f32[2,4] feed, z: f32[2,4] feed, m: f32[4] state,
             v: f32[4] state, g: f32[4] variable, b: f32[4] variable) {)";

constexpr std::string_view kNorm = R"(
    y = batch_norm(x, m, v, g, b) {activation="relu"})";

std::string graph_text(std::string_view body, std::string_view norm = kNorm) {
  return std::string(kInputs) + std::string(norm) + std::string(body);
}

constexpr std::string_view kMasked = R"(
    d = relu_grad(dy, y)
    db, dg = batch_norm_sums(d, x, m, v)
    s = sum_slices(db)
    t = sum_slices(dg)
    dx = batch_norm_input_grad(d, x, m, v, g, s, t)
)";

TEST(FuseBatchNormGrad, MasksInsideBothGradients) {
  expect_rewrite<FuseBatchNormGrad>(
      graph_text(std::string(kMasked) +
                 "return gradient b=db, gradient g=dg, result dx=dx, result y=y }"),
      graph_text(R"(
    db, dg = batch_norm_sums(dy, x, m, v, g, b) {activation="relu"}
    s = sum_slices(db)
    t = sum_slices(dg)
    dx = batch_norm_input_grad(dy, x, m, v, g, s, t, b) {activation="relu"}
    return gradient b=db, gradient g=dg, result dx=dx, result y=y })"));
}

TEST(FuseBatchNormGrad, MasksByRelu6) {
  constexpr std::string_view kSixes = R"(
    y = batch_norm(x, m, v, g, b) {activation="relu6"})";
  expect_rewrite<FuseBatchNormGrad>(graph_text(R"(
    d = relu6_grad(dy, y)
    db, dg = batch_norm_sums(d, x, m, v)
    return gradient b=db, gradient g=dg })",
                                               kSixes),
                                    graph_text(R"(
    db, dg = batch_norm_sums(dy, x, m, v, g, b) {activation="relu6"}
    return gradient b=db, gradient g=dg })",
                                               kSixes));
}

// The mask must be that of the normalisation whose gradients these are.
TEST(FuseBatchNormGrad, LeavesMasksOfSomethingElse) {
  for (const char* norm : {"y = batch_norm(z, m, v, g, b) {activation=\"relu\"}",
                           "y = batch_norm(x, v, m, g, b) {activation=\"relu\"}",
                           "y = batch_norm(x, m, v, g, b) {activation=\"relu6\"}",
                           "y = batch_norm(x, m, v, g, b) {activation=\"relu\", epsilon=0.5}",
                           "n = batch_norm(x, m, v, g, b) y = relu(n)"}) {
    SCOPED_TRACE(norm);
    expect_unchanged<FuseBatchNormGrad>(graph_text(
        std::string(kMasked) + "return gradient b=db, gradient g=dg, result dx=dx }", norm));
  }
  expect_unchanged<FuseBatchNormGrad>(graph_text(R"(
    d = relu_grad(dy, z)
    db, dg = batch_norm_sums(d, x, m, v)
    return gradient b=db, gradient g=dg })"));
  expect_unchanged<FuseBatchNormGrad>(
      graph_text(std::string(kMasked) + "return gradient b=db, gradient g=dg, result dx=dx }",
                 "y = batch_norm(x, m, v, b, g) {activation=\"relu\"}"));
}

TEST(FuseBatchNormGrad, LeavesAGradientThatAThirdUserReads) {
  expect_unchanged<FuseBatchNormGrad>(
      graph_text(std::string(kMasked) + "e = add(dx, d) return result e=e }"));
}

TEST(FuseBatchNormGrad, LeavesAGradientThatIsAnOutput) {
  expect_unchanged<FuseBatchNormGrad>(
      graph_text(std::string(kMasked) + "return result dx=dx, result d=d }"));
}

TEST(FuseBatchNormGrad, LeavesStatisticsThatAreNotOfTheBatch) {
  expect_unchanged<FuseBatchNormGrad>(graph_text(R"(
    d = relu_grad(dy, y)
    db, dg = batch_norm_sums(d, x, m, v)
    dx = batch_norm_input_grad(d, x, m, v, g)
    return result dx=dx, gradient g=dg })"));
}

TEST(FuseBatchNormGrad, LeavesSumsThatMaskAlready) {
  expect_unchanged<FuseBatchNormGrad>(graph_text(R"(
    d = relu_grad(dy, y)
    db, dg = batch_norm_sums(d, x, m, v, g, b) {activation="relu"}
    return gradient g=dg })"));
}

TEST(FuseBatchNormGrad, LeavesAGradientThatIsReadAsTheInputToo) {
  expect_unchanged<FuseBatchNormGrad>(graph_text(R"(
    d = relu_grad(dy, y)
    db, dg = batch_norm_sums(d, d, m, v)
    return gradient g=dg })"));
}

TEST(FuseBatchNormGrad, LeavesAGradientOfAnotherStage) {
  expect_unchanged<FuseBatchNormGrad>(graph_text(R"(
    d = relu_grad(dy, y) ^1
    db, dg = batch_norm_sums(d, x, m, v)
    return gradient b=db, gradient g=dg })"));
}

}  // namespace
}  // namespace pando::compiler

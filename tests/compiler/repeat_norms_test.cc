#include <gtest/gtest.h>

#include "tests/compiler/pass_testing.h"

namespace pando::compiler {
namespace {

// A normalisation between two dense layers; the arguments are its op and what backward computes.
std::string norm_between_layers(std::string_view norm, std::string_view backward) {
  return R"(graph(x: f32[2,4] feed, y: i32[2] feed, k: f32[4,4] variable, m: f32[4] state,
                  v: f32[4] state, g: f32[4] variable, b: f32[4] variable, w: f32[4,2] variable) {
    a = dense(x, k)
    n = )" +
         std::string(norm) + R"(
    f = dense(n, w)
    l = cross_entropy(f, y) {from_logits=1}
    s = loss_seed() {batch=2}
    df = cross_entropy_grad(s, f, y) {from_logits=1} )" +
         std::string(backward) + " }";
}

constexpr std::string_view kNorm = R"(batch_norm(a, m, v, g, b) {activation="relu"})";
constexpr std::string_view kSums = R"(
    dn = dense_input_grad(df, w)
    db, dg = batch_norm_sums(dn, a, m, v, g, b) {activation="relu"}
    return loss l=l, gradient w=dw, gradient b=db, gradient g=dg)";

TEST(RepeatNorms, ComputesResultsAgainBeforeBackwardReadsThem) {
  expect_rewrite<RepeatNorms>(
      norm_between_layers(kNorm, "dw = dense_filter_grad(n, df)" + std::string(kSums)),
      norm_between_layers(kNorm,
                          "again = batch_norm(a, m, v, g, b) {activation=\"relu\"} "
                          "dw = dense_filter_grad(again, df)" +
                              std::string(kSums)));
}

TEST(RepeatNorms, OneCopyServesAllReaders) {
  CompileState state = typed_state(
      norm_between_layers(kNorm, "dw = dense_filter_grad(n, df) other = dense_filter_grad(n, df)" +
                                     std::string(kSums) + ", result o=other"));
  EXPECT_TRUE(RepeatNorms().run(state));
  int norms = 0;
  for (const auto& node : state.graph.nodes()) norms += node->op() == "batch_norm" ? 1 : 0;
  EXPECT_EQ(norms, 2);
}

// Keeping the input instead of the result would save nothing.
TEST(RepeatNorms, LeavesNormsWhoseInputBackwardDoesNotRead) {
  expect_unchanged<RepeatNorms>(norm_between_layers(kNorm, R"(
    dw = dense_filter_grad(n, df)
    return loss l=l, gradient w=dw)"));
}

TEST(RepeatNorms, LeavesNormsThatOnlyForwardReads) {
  expect_unchanged<RepeatNorms>(norm_between_layers(kNorm, R"(
    dn = dense_input_grad(df, w)
    db, dg = batch_norm_sums(dn, a, m, v, g, b) {activation="relu"}
    return loss l=l, gradient b=db, gradient g=dg)"));
}

TEST(RepeatNorms, LeavesOtherOps) {
  expect_unchanged<RepeatNorms>(norm_between_layers("tanh(a)", R"(
    dw = dense_filter_grad(n, df)
    dn = dense_input_grad(df, w)
    da = tanh_grad(dn, n)
    dk = dense_filter_grad(a, da)
    return loss l=l, gradient w=dw, gradient k=dk)"));
}

// The last stage keeps its activations even if the others compute them again.
TEST(RepeatNorms, LeavesCopiesOfRecompute) {
  const std::string again = "again = " + std::string(kNorm) + " dw = dense_filter_grad(again, df)";
  expect_unchanged<RepeatNorms>(norm_between_layers(kNorm, again + std::string(kSums)));
}

}  // namespace
}  // namespace pando::compiler

#include <gtest/gtest.h>

#include "tests/compiler/pass_testing.h"

namespace pando::compiler {
namespace {

// `body` makes y of x and r; the backward part makes it a graph of training.
std::string norm_add_graph(const std::string& body, const std::string& output = "") {
  return R"(graph(x: f32[2,4] feed, r: f32[2,4] feed, t: i32[2] feed, m: f32[4] state,
                  v: f32[4] state, g: f32[4] variable, b: f32[4] variable) {)" +
         body + R"(
    l = cross_entropy(y, t) {from_logits=1}
    s = loss_seed() {batch=2}
    dy = cross_entropy_grad(s, y, t) {from_logits=1}
    db = channel_sums(dy)
    return loss l=l, gradient b=db)" +
         output + " }";
}

TEST(FuseNormAdd, EitherSummand) {
  for (const std::string sum : {"add(n, r)", "add(r, n)"}) {
    expect_rewrite<FuseNormAdd>(
        norm_add_graph("n = batch_norm(x, m, v, g, b) {epsilon=0.5} y = " + sum +
                       " {activation=\"relu\"}"),
        norm_add_graph(R"(y = batch_norm(x, m, v, g, b, r) {activation="relu", epsilon=0.5})"));
  }
}

TEST(FuseNormAdd, TheLaterNormTakesTheOther) {
  expect_rewrite<FuseNormAdd>(norm_add_graph(R"(
    n = batch_norm(x, m, v, g, b)
    o = batch_norm(r, m, v, g, b)
    y = add(n, o))"),
                              norm_add_graph(R"(
    n = batch_norm(x, m, v, g, b)
    y = batch_norm(r, m, v, g, b, n))"));
}

TEST(FuseNormAdd, LeavesNormsWithOtherReaders) {
  expect_unchanged<FuseNormAdd>(
      norm_add_graph("n = batch_norm(x, m, v, g, b) y = add(n, r)", ", result n=n"));
  expect_unchanged<FuseNormAdd>(norm_add_graph(R"(
    n = batch_norm(x, m, v, g, b)
    o = relu(n)
    y = add(n, o))"));
  expect_unchanged<FuseNormAdd>(norm_add_graph("n = batch_norm(x, m, v, g, b) y = add(n, n)"));
}

TEST(FuseNormAdd, LeavesActivationsBeforeTheSum) {
  expect_unchanged<FuseNormAdd>(
      norm_add_graph(R"(n = batch_norm(x, m, v, g, b) {activation="relu"} y = add(n, r))"));
}

TEST(FuseNormAdd, LeavesInference) {
  expect_unchanged<FuseNormAdd>(R"(graph(x: f32[2,4] feed, r: f32[2,4] feed, m: f32[4] state,
      v: f32[4] state, g: f32[4] variable, b: f32[4] variable) {
    n = batch_norm(x, m, v, g, b)
    y = add(n, r)
    return result y=y })");
}

TEST(FuseNormAdd, LeavesHalfPrecision) {
  CompileState state = typed_state(norm_add_graph("n = batch_norm(x, m, v, g, b) y = add(n, r)"));
  state.options.precision.compute = DType::f16;
  EXPECT_FALSE(FuseNormAdd().run(state));
}

}  // namespace
}  // namespace pando::compiler

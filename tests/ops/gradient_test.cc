// Every op's gradient rule and its reference kernels against central differences.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/grad/gradients.h"
#include "pando/ir/text.h"
#include "tests/ops/gradient_cases.h"
#include "tests/support/expect_error.h"

namespace pando::ops {
namespace {

class Gradient : public testing::TestWithParam<test::GradientCase> {};

TEST_P(Gradient, MatchesCentralDifferences) {
  EXPECT_EQ(test::check_gradients(GetParam()), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Ops, Gradient, testing::ValuesIn(test::gradient_cases()),
                         [](const auto& row) { return row.param.name; });

// The check itself must detect a wrong gradient.
TEST(GradientCheck, FindsAWrongGradient) {
  // batch_norm without batch_statistics ignores that mean and variance depend on x.
  const auto wrong =
      test::check_gradients({"wrong",
                             "graph(x: f32[4,2] variable, g: f32[2] feed, b: f32[2] feed) {"
                             " s = batch_moments(x) m, v, u = combine_moments(s)"
                             " y = batch_norm(x, m, v, g, b) return result y=y }"});
  EXPECT_FALSE(wrong.empty());
  const auto missing =
      test::check_gradients({.name = "missing",
                             .graph = "graph(p: f32[2,2] variable, t: i32[2] feed) {"
                                      " y = top_k_accuracy(p, t) return result y=y }",
                             .values = {{"t", Tensor::of_i32({2}, {0, 1})}}});
  EXPECT_EQ(missing, std::vector<std::string>{"p has no gradient"});
}

std::string gradient_error(const std::string& inputs, const std::string& node,
                           const std::string& result) {
  ir::Graph graph =
      test::typed_graph(concat("graph(", inputs, ") { ", node, " return result y=", result, " }"));
  ir::Value* y = graph.outputs().front().value;
  ir::Value* dy = graph.add_input("dy", ir::InputRole::feed, y->type());
  try {
    grad::append_gradients(graph, y, dy);
  } catch (const Unsupported& error) {
    return error.what();
  }
  return "no error";
}

TEST(GradientRules, RefusesFusedActivations) {
  EXPECT_SAYS(gradient_error("x: f32[1,3,3,1] variable, k: f32[2,2,1,1] variable",
                             "y = conv(x, k) {activation=\"relu\"} @c", "y"),
              "conv 'c'", "activation \"relu\"", "before fusion");
  EXPECT_SAYS(gradient_error("x: f32[1,3] variable, k: f32[3,2] variable",
                             "y = dense(x, k) {activation=\"leaky_relu\", alpha=0.1}", "y"),
              "dense 'dense'", "activation \"leaky_relu\"", "before fusion");
  EXPECT_SAYS(gradient_error("a: f32[3] variable", "y = add(a, a) {activation=\"relu\"}", "y"),
              "add 'add'", "activation \"relu\"", "before fusion");
  EXPECT_SAYS(gradient_error("x: f32[3,1] variable, c: f32[1] feed",
                             "y = batch_norm(x, c, c, c, c) {activation=\"relu\"}", "y"),
              "batch_norm 'batch_norm'", "activation \"relu\"", "before fusion");
}

TEST(GradientRules, RefusesStatisticsOfGroupNorm) {
  EXPECT_SAYS(gradient_error("x: f32[3,2] variable, c: f32[2] feed",
                             "a, m, s = group_norm(x, c, c) {groups=1} y = relu(m)", "y"),
              "group_norm 'group_norm'", "mean and inv_std", "gradient");
  EXPECT_SAYS(gradient_error("x: f32[3,2] variable",
                             "a, m, s = layer_norm(x) {scale=0, center=0} y = relu(m)", "y"),
              "layer_norm 'layer_norm'", "mean and inv_std", "gradient");
}

// The backward nodes of cast to `dtype` and back.
std::string cast_backward(const std::string& dtype) {
  ir::Graph graph = test::typed_graph("graph(x: f32[2] variable) { y = cast(x) {dtype=\"" + dtype +
                                      "\"} z = cast(y) return result z=z }");
  ir::Value* z = graph.outputs().front().value;
  ir::Value* dz = graph.add_input("dz", ir::InputRole::feed, z->type());
  grad::add_gradient_outputs(graph, grad::append_gradients(graph, z, dz));
  const std::string text = ir::to_text(graph);
  return text.substr(text.find("z: f32[2] = cast(y)\n") + 20);
}

TEST(GradientRules, CastPassesFloatingPointOnly) {
  EXPECT_EQ(cast_backward("i32"), "  return result z=z\n}\n");
  EXPECT_EQ(cast_backward("f16"),
            "  v0: f16[2] = cast(dz) {dtype=\"f16\"} @cast/grad\n"
            "  v1: f32[2] = cast(v0) {dtype=\"f32\"} @cast/grad\n"
            "  return result z=z, gradient x=v1\n}\n");
}

}  // namespace
}  // namespace pando::ops

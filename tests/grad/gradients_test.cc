// Gradients of whole networks: numeric checks, what is pruned, how contributions are summed.
// SPDX-License-Identifier: MIT
#include "pando/grad/gradients.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/ir/text.h"
#include "pando/ir/verifier.h"
#include "tests/support/gradient_check.h"

namespace pando::grad {
namespace {

using test::check_gradients;
using test::typed_graph;

const std::vector<std::string> kNothing;

// Softened activations, since a relu after sums has kinks that no choice of inputs avoids.
TEST(Gradients, ConvBatchNormPoolDenseCrossEntropy) {
  EXPECT_EQ(check_gradients(
                {.name = "network",
                 .graph = "graph(x: f32[3,5,4,2] variable, t: i32[3] feed,"
                          "      k: f32[3,3,2,3] variable, b: f32[3] variable,"
                          "      g: f32[3] variable, e: f32[3] variable,"
                          "      w: f32[12,4] variable, c: f32[4] variable) {"
                          "  y1 = conv(x, k, b) {padding=\"same\"}"
                          "  s = batch_moments(y1) m, v, u = combine_moments(s)"
                          "  y2 = batch_norm(y1, m, v, g, e) {batch_statistics=1, epsilon=0.1}"
                          "  y3 = tanh(y2)"
                          "  y4 = avg_pool(y3) {window=[2,2]}"
                          "  y5 = reshape(y4) {shape=[12]}"
                          "  y6 = dense(y5, w, c)"
                          "  y7 = softmax(y6)"
                          "  loss = cross_entropy(y7, t) {label_smoothing=0.1}"
                          "  return result loss=loss }",
                 .values = {{"t", Tensor::of_i32({3}, {2, 0, 3})},
                            // The bias before a batch normalisation cancels: its gradient is zero.
                            {"b", Tensor::of_f32({3}, {0.1f, 0.2f, -0.3f})}}}),
            kNothing);
}

TEST(Gradients, ResidualWithFanOut) {
  EXPECT_EQ(check_gradients({"residual",
                             "graph(x: f32[2,4,4,2] variable, k1: f32[3,3,2,4] variable,"
                             "      k2: f32[3,3,4,4] variable, g: f32[4] variable,"
                             "      b: f32[4] variable) {"
                             "  a = conv(x, k1) {padding=\"same\", strides=[2,2]}"
                             "  s = sigmoid(a)"
                             "  n, mean, inv_std = group_norm(s, g, b) {groups=2}"
                             "  c = conv(n, k2) {padding=\"same\"}"
                             "  r = add(c, s)"
                             "  h = slice(x) {begin=[0,0,0,0], size=[2,2,2,2], strides=[1,2,2,1]}"
                             "  p = pad(h) {low=[0,0,0,1], high=[0,0,0,1]}"
                             "  q = add(r, p)"
                             "  y = multiply(q, s)"
                             "  return result y=y }"}),
            kNothing);
}

TEST(Gradients, ReluAndMaxPoolChain) {
  EXPECT_EQ(check_gradients({"chain",
                             "graph(x: f32[2,4,6,1] variable, z: f32[2,2,3,1] variable) {"
                             "  a = leaky_relu(x) {alpha=0.2}"
                             "  b, i = max_pool(a) {window=[2,2]}"
                             "  c = relu(z)"
                             "  y = concat(b, c) {axis=3}"
                             "  return result y=y }"}),
            kNothing);
}

// The text of the nodes that append_gradients added.
std::string backward_text(const std::string& text, const GradientOptions& options = {}) {
  ir::Graph graph = typed_graph(text);
  const std::string before = ir::to_text(graph);
  ir::Value* result = graph.outputs().front().value;
  ir::Value* seed = graph.find_value("seed");
  add_gradient_outputs(graph, append_gradients(graph, result, seed, options));
  ir::verify(graph);
  const std::string after = ir::to_text(graph);
  const size_t from = before.rfind("  return");
  return after.substr(from);
}

TEST(Gradients, OnlyPathsFromVariablesToTheLossAreDifferentiated) {
  // Neither the data, nor the branch before the variable, nor the unused branch has gradients.
  EXPECT_EQ(backward_text("graph(x: f32[2,3] feed, k: f32[3,2] variable, u: f32[2,2] variable,"
                          "      seed: f32[2,2] feed) {"
                          "  a = tanh(x) b = dense(a, k) @fc unused = add(b, u)"
                          "  return result b=b }"),
            "  v0: f32[3,2] = dense_filter_grad(a, seed) @fc/grad\n"
            "  return result b=b, gradient k=v0\n}\n");
}

TEST(Gradients, ContributionsAreSummedInTheOrderTheyArrive) {
  EXPECT_EQ(backward_text("graph(w: f32[2] variable, seed: f32[2] feed) {"
                          "  a = tanh(w) @first b = sigmoid(a) @second c = add(a, b) @third"
                          "  d = add(c, a) @fourth return result d=d }"),
            "  v0: f32[2] = sigmoid_grad(seed, b) @second/grad\n"
            "  v1: f32[2] = add(seed, seed) @first/grad\n"
            "  v2: f32[2] = add(v1, v0) @first/grad\n"
            "  v3: f32[2] = tanh_grad(v2, a) @first/grad\n"
            "  return result d=d, gradient w=v3\n}\n");
}

TEST(Gradients, AVariableUsedTwiceIsSummed) {
  EXPECT_EQ(backward_text("graph(w: f32[2] variable, seed: f32[2] feed) {"
                          "  a = tanh(w) b = sigmoid(w) c = add(a, b) return result c=c }"),
            "  v0: f32[2] = sigmoid_grad(seed, b) @sigmoid/grad\n"
            "  v1: f32[2] = tanh_grad(seed, a) @tanh/grad\n"
            "  v2: f32[2] = add(v0, v1) @w/grad\n"
            "  return result c=c, gradient w=v2\n}\n");
}

TEST(Gradients, TheLossMayBeAVariable) {
  EXPECT_EQ(backward_text("graph(w: f32[2] variable, seed: f32[2] feed) { return result w=w }"),
            "  return result w=w, gradient w=seed\n}\n");
}

TEST(Gradients, ACheckpointHandsItsGradientOn) {
  EXPECT_EQ(backward_text("graph(w: f32[2] variable, seed: f32[2] feed) {"
                          "  a = tanh(w) b = checkpoint(a) c = sigmoid(b) return result c=c }"),
            "  v0: f32[2] = sigmoid_grad(seed, c) @sigmoid/grad\n"
            "  v1: f32[2] = tanh_grad(v0, a) @tanh/grad\n"
            "  return result c=c, gradient w=v1\n}\n");
}

TEST(Gradients, NothingFlowsThroughNoGradOps) {
  EXPECT_EQ(backward_text("graph(p: f32[2,3] variable, t: i32[2] feed, seed: f32[2] feed) {"
                          "  hit = top_k_accuracy(p, t) return result hit=hit }"),
            "  return result hit=hit\n}\n");
}

// Ops on the data alone need no gradient.
TEST(Gradients, NothingIsAskedOfPreprocessing) {
  EXPECT_EQ(backward_text("graph(x: u8[2,2,2,1] feed, f: u8[2] feed, w: f32[2,2,2,1] variable,"
                          "      seed: f32[2,2,2,1] feed) {"
                          "  a = flip_where(x, f) b = cast(a) c = standardise_image(b)"
                          "  d = normalise_pixels(c) {scale=[2], shift=[1]} e = multiply(d, w)"
                          "  return result e=e }"),
            "  v0: f32[2,2,2,1] = multiply(seed, d) @multiply/grad\n"
            "  return result e=e, gradient w=v0\n}\n");
}

TEST(Gradients, StandardisingWhatIsTrainedIsUnsupported) {
  EXPECT_THROW(backward_text("graph(w: f32[2,2,2,1] variable, seed: f32[2,2,2,1] feed) {"
                             "  y = standardise_image(w) return result y=y }"),
               Unsupported);
}

TEST(Gradients, ChosenValuesOnlyAndInTheirOrder) {
  ir::Graph graph = typed_graph(
      "graph(x: f32[2,3] feed, k: f32[3,2] variable, seed: f32[2,2] feed) {"
      "  a = tanh(x) b = dense(a, k) return result b=b }");
  const ir::Value* a = graph.find_value("a");
  const ir::Value* x = graph.find_value("x");
  const auto gradients = append_gradients(graph, graph.find_value("b"), graph.find_value("seed"),
                                          {.variables = {a, x}});
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_EQ(gradients[0].variable, a);
  EXPECT_EQ(gradients[0].gradient->producer()->op(), "dense_input_grad");
  EXPECT_EQ(gradients[1].variable, x);
  EXPECT_EQ(gradients[1].gradient->producer()->op(), "tanh_grad");
}

TEST(Gradients, SeedMustHaveTheTypeOfTheLoss) {
  ir::Graph graph =
      typed_graph("graph(w: f32[2] variable, seed: f32[3] feed) { a = tanh(w) return result a=a }");
  EXPECT_THROW(append_gradients(graph, graph.find_value("a"), graph.find_value("seed")),
               InvalidArgument);
}

// A backward node is in the stage of its forward node; the sum of several paths is in the stage of
// the value's producer; the gradient of a variable that several stages use is summed in the lowest
// one.
TEST(Gradients, StagesFollowTheForwardNodes) {
  ir::Graph graph = typed_graph(
      "graph(x: f32[2,3] feed, w: f32[3,3] variable) {"
      "  a = dense(x, w)"
      "  b = dense(a, w) ^1"
      "  c = add(a, b) ^2"
      "  seed = tanh(c) ^2"
      "  return result c=c }");
  append_gradients(graph, graph.find_value("c"), graph.find_value("seed"));
  std::string places;
  for (const auto& node : graph.nodes()) {
    if (node->name().find("/grad") == std::string::npos) continue;
    places += node->op() + std::to_string(node->stage()) + " ";
  }
  EXPECT_EQ(places, "dense_input_grad1 dense_filter_grad1 add0 dense_filter_grad0 add0 ");
}

}  // namespace
}  // namespace pando::grad

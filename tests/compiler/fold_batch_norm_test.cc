#include <gtest/gtest.h>

#include "tests/compiler/pass_testing.h"
#include "tests/compiler/playback.h"
#include "tests/compiler/program_of.h"

namespace pando::compiler {
namespace {

// A graph with an 8-channel image, a filter, a bias and the weights of a normalisation.
std::string image_graph(const std::string& body) {
  return "graph(x: f32[2,8,8,8] feed, k: f32[3,3,8,4] variable, d: f32[3,3,1,8] variable,"
         "      b: f32[4] variable, m: f32[4] state, v: f32[4] state, g: f32[4] variable,"
         "      o: f32[4] variable, n: f32[8] variable) {" +
         body + "}";
}

TEST(FoldBatchNorm, IntoConvWithoutBias) {
  expect_rewrite<FoldBatchNorm>(image_graph(R"(
    c = conv(x, k) {padding="same"}
    y = batch_norm(c, m, v, g, o) {epsilon=0.01}
    return result y=y)"),
                                image_graph(R"(
    f, s = fold_batch_norm(k, m, v, g, o) {epsilon=0.01}
    y = conv(x, f, s) {padding="same"}
    return result y=y)"));
}

TEST(FoldBatchNorm, IntoConvWithBias) {
  expect_rewrite<FoldBatchNorm>(image_graph(R"(
    c = conv(x, k, b)
    n1 = batch_norm(c, m, v, g, o)
    y = relu(n1)
    return result y=y)"),
                                image_graph(R"(
    f, s = fold_batch_norm(k, m, v, g, o, b) {epsilon=0.001}
    c = conv(x, f, s)
    y = relu(c)
    return result y=y)"));
}

TEST(FoldBatchNorm, IntoDepthwiseConv) {
  expect_rewrite<FoldBatchNorm>(image_graph(R"(
    c = conv(x, d) {groups=8}
    y = batch_norm(c, n, n, n, n)
    return result y=y)"),
                                image_graph(R"(
    f, s = fold_batch_norm(d, n, n, n, n) {epsilon=0.001}
    y = conv(x, f, s) {groups=8}
    return result y=y)"));
}

TEST(FoldBatchNorm, IntoConvTranspose) {
  constexpr std::string_view kInputs =
      "graph(x: f32[2,8,8,8] feed, k: f32[2,2,4,8] variable, h: f32[2,2,4,8] variable,"
      "      m: f32[4] state, v: f32[4] state, g: f32[4] variable, o: f32[4] variable,"
      "      n: f32[8] variable) {";
  expect_rewrite<FoldBatchNorm>(std::string(kInputs) + R"(
    c = conv_transpose(x, k) {output=[16,16], strides=[2,2]}
    y = batch_norm(c, m, v, g, o)
    return result y=y })",
                                std::string(kInputs) + R"(
    f, s = fold_batch_norm(k, m, v, g, o) {epsilon=0.001, transposed=1}
    y = conv_transpose(x, f, s) {output=[16,16], strides=[2,2]}
    return result y=y })");
  // With groups, the channels of the result are no axis of the filter.
  expect_unchanged<FoldBatchNorm>(std::string(kInputs) + R"(
    c = conv_transpose(x, h) {groups=2, output=[16,16], strides=[2,2]}
    y = batch_norm(c, n, n, n, n)
    return result y=y })");
}

TEST(FoldBatchNorm, IntoDense) {
  constexpr std::string_view kInputs =
      "graph(x: f32[2,3] feed, k: f32[3,4] variable, m: f32[4] state, v: f32[4] state,"
      "      g: f32[4] variable, o: f32[4] variable) {";
  expect_rewrite<FoldBatchNorm>(std::string(kInputs) + R"(
    c = dense(x, k)
    y = batch_norm(c, m, v, g, o)
    return result y=y })",
                                std::string(kInputs) + R"(
    f, s = fold_batch_norm(k, m, v, g, o) {epsilon=0.001}
    y = dense(x, f, s)
    return result y=y })");
}

// Both normalisations of one filter fold, each into a filter of its own.
TEST(FoldBatchNorm, ASharedFilterFoldsTwice) {
  CompileState state = typed_state(image_graph(R"(
    c = conv(x, k)
    y = batch_norm(c, m, v, g, o)
    e = conv(x, k)
    z = batch_norm(e, m, v, o, g)
    return result y=y, result z=z)"));
  EXPECT_TRUE(FoldBatchNorm().run(state));
  ASSERT_EQ(state.graph.nodes().size(), 4u);
  EXPECT_NE(state.graph.nodes()[1]->input(1), state.graph.nodes()[3]->input(1));
}

TEST(FoldBatchNorm, OnlyTheFirstOfTwoNormalisations) {
  expect_rewrite<FoldBatchNorm>(image_graph(R"(
    c = conv(x, k)
    y = batch_norm(c, m, v, g, o)
    z = batch_norm(y, m, v, g, o)
    return result z=z)"),
                                image_graph(R"(
    f, s = fold_batch_norm(k, m, v, g, o) {epsilon=0.001}
    y = conv(x, f, s)
    z = batch_norm(y, m, v, g, o)
    return result z=z)"));
}

TEST(FoldBatchNorm, LeavesAResultThatIsUsedTwiceOrReturned) {
  expect_unchanged<FoldBatchNorm>(image_graph(R"(
    c = conv(x, k)
    y = batch_norm(c, m, v, g, o)
    z = add(c, y)
    return result z=z)"));
  expect_unchanged<FoldBatchNorm>(image_graph(R"(
    c = conv(x, k)
    y = batch_norm(c, m, v, g, o)
    return result y=y, result c=c)"));
}

TEST(FoldBatchNorm, LeavesWhatDoesNotFollowAConvolutionDirectly) {
  expect_unchanged<FoldBatchNorm>(image_graph(R"(
    c = conv(x, k)
    p, i = max_pool(c) {window=[2,2]}
    y = batch_norm(p, m, v, g, o)
    return result y=y)"));
  expect_unchanged<FoldBatchNorm>(image_graph(R"(
    c = conv(x, k)
    r = relu(c)
    y = batch_norm(r, m, v, g, o)
    return result y=y)"));
  expect_unchanged<FoldBatchNorm>(image_graph(R"(
    c = conv(x, k) {activation="relu"}
    y = batch_norm(c, m, v, g, o)
    return result y=y)"));
  expect_unchanged<FoldBatchNorm>(image_graph(R"(
    y = batch_norm(x, n, n, n, n)
    return result y=y)"));
}

TEST(FoldBatchNorm, NotAcrossStages) {
  expect_unchanged<FoldBatchNorm>(image_graph(R"(
    c = conv(x, k)
    y = batch_norm(c, m, v, g, o) ^1
    return result y=y)"));
}

TEST(FoldBatchNorm, LeavesStatisticsOfTheBatch) {
  expect_unchanged<FoldBatchNorm>(image_graph(R"(
    c = conv(x, k)
    t = batch_moments(c)
    a, w, u = combine_moments(t)
    y = batch_norm(c, a, w, g, o) {batch_statistics=1}
    return result y=y, statistic m=t)"));
}

// A frozen layer: the gradient of k passes through a normalisation by moving statistics.
TEST(FoldBatchNorm, LeavesTraining) {
  expect_unchanged<FoldBatchNorm>(R"(graph(x: f32[2,3] feed, t: f32[2,4] feed,
      k: f32[3,4] variable, m: f32[4] state, v: f32[4] state, g: f32[4] variable,
      o: f32[4] variable) {
    c = dense(x, k)
    y = batch_norm(c, m, v, g, o)
    l = mean_squared_error(y, t)
    s = loss_seed() {batch=2}
    dy = mean_squared_error_grad(s, y, t)
    dc = batch_norm_input_grad(dy, c, m, v, g)
    dk = dense_filter_grad(x, dc)
    return loss loss=l, gradient k=dk })");
}

// While a filter is packed, the next is folded. Then its folded copy is free: only the last one
// lies beside the packed filters.
TEST(FoldBatchNorm, TheProgramFoldsThenPacksStepByStep) {
  const auto program = program_of(R"(graph(x: f32[2,8,8,16] feed, k: f32[3,3,16,16] variable,
      q: f32[3,3,16,16] variable, e: f32[3,3,16,16] variable, n: f32[16] variable) {
    c1 = conv(x, k)
    y1 = batch_norm(c1, n, n, n, n)
    c2 = conv(y1, q)
    y2 = batch_norm(c2, n, n, n, n)
    c3 = conv(y2, e)
    y3 = batch_norm(c3, n, n, n, n)
    return result y=y3 })");
  const std::vector<std::vector<std::string>> wanted = {
      {"fold_batch_norm"}, {"pack", "fold_batch_norm"}, {"pack", "fold_batch_norm"}, {"pack"}};
  std::vector<std::vector<std::string>> found;
  std::vector<const ir::Value*> folded;
  size_t packed_bytes = 0;
  for (const Segment& segment : program->prologue()) {
    found.emplace_back();
    for (const int index : segment.calls) {
      const Call& call = program->calls()[static_cast<size_t>(index)];
      found.back().push_back(call.node->op());
      EXPECT_EQ(call.section, -1);
      if (call.node->op() == "fold_batch_norm") folded.push_back(call.outputs[0].value);
      packed_bytes += call.outputs.back().value->bytes();  // packed filters and folded biases
    }
  }
  EXPECT_EQ(found, wanted);
  ASSERT_EQ(folded.size(), 3u);
  EXPECT_EQ(program->memory().packed_bytes, packed_bytes + folded[2]->bytes());
  Playback(*program).run();
}

}  // namespace
}  // namespace pando::compiler

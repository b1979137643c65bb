#include <gtest/gtest.h>

#include "pando/compiler/program.h"
#include "pando/nn/layers.h"
#include "tests/compiler/stage_testing.h"
#include "tests/support/training_graphs.h"

namespace pando::compiler {
namespace {

// Stage 1 computes the loss; the gradient returns to stage 0 as `de`.
constexpr std::string_view kEnd = R"(
    f = dense(e, m) ^1
    l = cross_entropy(f, y) {from_logits=1} ^1
    s = loss_seed() {batch=2} ^1
    df = cross_entropy_grad(s, f, y) {from_logits=1} ^1
    de = dense_input_grad(df, m) ^1
    dm = dense_filter_grad(e, df) ^1 )";

// A graph of two stages. The arguments are the nodes of stage 0, forward (x to e) and backward (de
// to dk).
std::string two_stages(std::string_view forward, std::string_view backward) {
  return R"(graph(x: f32[2,4] feed, y: i32[2] feed, k: f32[4,4] variable, m: f32[4,2] variable) {)" +
         std::string(forward) + std::string(kEnd) + std::string(backward) +
         "return loss l=l, gradient k=dk, gradient m=dm }";
}

std::string chain() {
  return two_stages(R"(
    a = dense(x, k)
    b = tanh(a)
    e = tanh(b) )",
                    R"(
    db = tanh_grad(de, e)
    da = tanh_grad(db, b)
    dk = dense_filter_grad(x, da) )");
}

CompileState recompute(std::string_view text, Recomputation mode, bool pipelined = true) {
  CompileState state = named_state(text, {.pipelined = pipelined, .recomputation = mode});
  SplitStages().run(state);
  const std::string before = canonical(state.graph);
  const bool changed = Recompute().run(state);
  EXPECT_EQ(changed, canonical(state.graph) != before);
  EXPECT_NO_THROW(ir::verify(state.graph));
  EXPECT_NO_THROW(InferShapes().run(state));  // copies have the types of the originals
  EXPECT_EQ(state.section_of.size(), pipelined ? state.graph.nodes().size() : 0);
  return state;
}

// The nodes with this name: the original and its copy.
std::vector<const ir::Node*> named(const CompileState& state, std::string_view name) {
  std::vector<const ir::Node*> found;
  for (const auto& node : state.graph.nodes()) {
    if (node->name() == name) found.push_back(node.get());
  }
  return found;
}

const Lines kChainKept = {"f0: a b e", "f1: f l", "b1: s df de dm", "b0: db da dk"};

TEST(Recompute, NoneLeavesTheGraph) {
  EXPECT_EQ(section_lines(recompute(chain(), Recomputation::none)), kChainKept);
}

TEST(Recompute, AStageRunsForwardAgainBeforeBackward) {
  const CompileState state = recompute(chain(), Recomputation::then_backward);
  EXPECT_EQ(section_lines(state),
            (Lines{"f0: a b e", "f1: f l", "b1: s df de dm", "b0: a b e db da dk"}));
  const ir::Node* copy = named(state, "b").at(1);
  EXPECT_EQ(copy->input(0), named(state, "a").at(1)->output());
  EXPECT_EQ(named(state, "da").at(0)->input(1), copy->output());
  EXPECT_EQ(named(state, "a").at(1)->input(0)->name(), "x");
  EXPECT_EQ(copy->stage(), 0);
}

TEST(Recompute, StagesStartFromTheirInputs) {
  const CompileState state = recompute(R"(graph(x: f32[2,4] feed, y: i32[2] feed,
    k: f32[4,4] variable) {
    a = dense(x, k)
    b = tanh(a) ^1
    c = multiply(b, a) ^1
    e = tanh(c) ^1
    l = cross_entropy(e, y) {from_logits=1} ^2
    s = loss_seed() {batch=2} ^2
    dl = cross_entropy_grad(s, e, y) {from_logits=1} ^2
    de = tanh_grad(dl, e) ^1
    db = multiply(de, a) ^1
    dc = tanh_grad(db, b) ^1
    dk = dense_filter_grad(x, dc)
    return loss l=l, gradient k=dk })",
                                       Recomputation::then_backward);
  // Stage 1 reads a, which stage 0 made in forward; stage 0 has nothing to recompute.
  EXPECT_EQ(section_lines(state),
            (Lines{"f0: a", "f1: b c e", "f2: l", "b2: s dl", "b1: b c e de db dc", "b0: dk"}));
  EXPECT_EQ(named(state, "b").at(1)->input(0), named(state, "a").at(0)->output());
}

TEST(Recompute, WhatOnlyBackwardReadLeavesForward) {
  const std::string text = two_stages(R"(
    a = dense(x, k)
    w = sigmoid(a)
    e = tanh(a) )",
                                      R"(
    da = multiply(de, w)
    dk = dense_filter_grad(x, da) )");
  const CompileState state = recompute(text, Recomputation::then_backward);
  EXPECT_EQ(section_lines(state), (Lines{"f0: a e", "f1: f l", "b1: s df de dm", "b0: a w da dk"}));
}

TEST(Recompute, ACopyServesAllItsReaders) {
  const std::string text = two_stages(R"(
    a = dense(x, k)
    e = tanh(a) )",
                                      R"(
    db = tanh_grad(de, e)
    dc = multiply(db, e)
    da = multiply(dc, a)
    dk = dense_filter_grad(x, da) )");
  const CompileState state = recompute(text, Recomputation::then_backward);
  EXPECT_EQ(section_lines(state).back(), "b0: a e db dc da dk");
}

// c is a view of b, so both are kept; backward of the nodes between c and e starts from there.
std::string with_checkpoint() {
  return two_stages(R"(
    a = dense(x, k)
    t = tanh(a)
    b = tanh(t)
    c = checkpoint(b)
    d = tanh(c)
    e = tanh(d) )",
                    R"(
    dd = tanh_grad(de, e)
    dc = tanh_grad(dd, d)
    db = tanh_grad(dc, b)
    da = tanh_grad(db, t)
    dk = dense_filter_grad(x, da) )");
}

TEST(Recompute, InterleavedStartsFromCheckpointsJustBeforeTheNeed) {
  const CompileState state = recompute(with_checkpoint(), Recomputation::interleaved);
  EXPECT_EQ(section_lines(state).front(), "f0: a t b c d e");
  EXPECT_EQ(section_lines(state).back(), "b0: d e dd dc db a t da dk");
  EXPECT_EQ(named(state, "d").at(1)->input(0), named(state, "c").at(0)->output());
  EXPECT_EQ(named(state, "db").at(0)->input(1), named(state, "b").at(0)->output());
}

TEST(Recompute, ThenBackwardPassesOverCheckpoints) {
  const CompileState state = recompute(with_checkpoint(), Recomputation::then_backward);
  EXPECT_EQ(section_lines(state).back(), "b0: a t b c d e dd dc db da dk");
}

TEST(Recompute, WithoutCheckpointsInterleavedStartsFromTheInputs) {
  const CompileState state = recompute(chain(), Recomputation::interleaved);
  EXPECT_EQ(section_lines(state).back(), "b0: a b e db da dk");
}

// One stage, which is the last one.
constexpr std::string_view kLastStage = R"(graph(x: f32[2,4] feed, y: i32[2] feed,
    k: f32[4,4] variable) {
    a = dense(x, k)
    b = tanh(a)
    c = checkpoint(b)
    d = tanh(c)
    e = checkpoint(d)
    f = tanh(e)
    g = tanh(f)
    l = cross_entropy(g, y) {from_logits=1}
    s = loss_seed() {batch=2}
    dg = cross_entropy_grad(s, g, y) {from_logits=1}
    df = tanh_grad(dg, g)
    de = tanh_grad(df, f)
    dd = tanh_grad(de, d)
    db = tanh_grad(dd, b)
    da = multiply(db, a)
    dk = dense_filter_grad(x, da)
    return loss l=l, gradient k=dk })";

TEST(Recompute, TheLastStageStopsAtItsLastCheckpoint) {
  const CompileState state = recompute(kLastStage, Recomputation::interleaved);
  EXPECT_EQ(section_lines(state), (Lines{"f0: a b c d e f g l", "b0: s dg df de dd db a da dk"}));
}

TEST(Recompute, TheLastStageKeepsItsActivations) {
  const Lines kept = {"f0: a b c d e f g l", "b0: s dg df de dd db da dk"};
  EXPECT_EQ(section_lines(recompute(kLastStage, Recomputation::then_backward)), kept);
}

TEST(Recompute, WorksWithoutAPipeline) {
  const CompileState state = recompute(kLastStage, Recomputation::interleaved, false);
  EXPECT_EQ(section_lines(state), Lines{"all: a b c d e f g l s dg df de dd db a da dk"});
  EXPECT_TRUE(state.section_of.empty());
  const Lines kept = {"all: a b c d e f g l s dg df de dd db da dk"};
  EXPECT_EQ(section_lines(recompute(kLastStage, Recomputation::then_backward, false)), kept);
}

TEST(Recompute, ACopyOfDropoutHasTheSameMask) {
  const std::string text = two_stages(R"(
    a = dense(x, k)
    b = dropout(a) {rate=0.25, key=77}
    e = tanh(b) )",
                                      R"(
    db = tanh_grad(de, e)
    da = dropout(db) {rate=0.25, key=77}
    dk = dense_filter_grad(x, da) )");
  const CompileState state = recompute(text, Recomputation::then_backward);
  const auto dropouts = named(state, "b");
  ASSERT_EQ(dropouts.size(), 2u);
  EXPECT_EQ(dropouts[1]->op(), "dropout");
  EXPECT_EQ(dropouts[1]->attributes().values(), dropouts[0]->attributes().values());
}

TEST(Recompute, BatchStatisticsAreTakenOnceAndComputedAgain) {
  const std::string text = R"(graph(x: f32[2,4] feed, y: i32[2] feed, k: f32[4,4] variable,
    g: f32[4] variable, o: f32[4] variable, moving: f32[4] state) {
    a = dense(x, k)
    m = batch_moments(a)
    mean, variance, unbiased = combine_moments(m)
    e = batch_norm(a, mean, variance, g, o) {batch_statistics=1}
    l = cross_entropy(e, y) {from_logits=1} ^1
    s = loss_seed() {batch=2} ^1
    de = cross_entropy_grad(s, e, y) {from_logits=1} ^1
    db, dg = batch_norm_sums(de, a, mean, variance)
    return loss l=l, gradient g=dg, gradient o=db, statistic moving=m })";
  const CompileState state = recompute(text, Recomputation::then_backward);
  EXPECT_EQ(section_lines(state),
            (Lines{"f0: a m mean e", "f1: l", "b1: s de", "b0: a m mean db"}));
  EXPECT_EQ(state.graph.find_output(ir::OutputRole::statistic, "moving")->value->producer(),
            named(state, "m").at(0));
  EXPECT_EQ(named(state, "db").at(0)->input(3), named(state, "mean").at(1)->output(1));
}

TEST(Recompute, CopiesHaveTheKernelsAndLayoutsOfTheOriginals) {
  CompileState state =
      named_state(chain(), {.pipelined = true, .recomputation = Recomputation::then_backward});
  SelectKernels().run(state);
  SplitStages().run(state);
  const ir::Layout layout{"mine", 8};
  state.graph.find_value("b")->set_layout(layout);
  ASSERT_TRUE(Recompute().run(state));
  const auto nodes = named(state, "b");
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(state.kernels.at(nodes[1]).kernel, state.kernels.at(nodes[0]).kernel);
  EXPECT_EQ(state.kernels.at(nodes[1]).candidate, state.kernels.at(nodes[0]).candidate);
  EXPECT_EQ(nodes[1]->output()->layout(), layout);
}

TEST(Recompute, ForgetsWhatItErases) {
  const std::string text = two_stages(R"(
    a = dense(x, k)
    w = sigmoid(a)
    e = tanh(a) )",
                                      R"(
    da = multiply(de, w)
    dk = dense_filter_grad(x, da) )");
  CompileState state =
      named_state(text, {.pipelined = true, .recomputation = Recomputation::then_backward});
  SelectKernels().run(state);
  SplitStages().run(state);
  ASSERT_TRUE(Recompute().run(state));
  EXPECT_EQ(named(state, "w").size(), 1u);
  EXPECT_EQ(state.kernels.size(), state.graph.nodes().size());
  for (const auto& node : state.graph.nodes()) EXPECT_TRUE(state.kernels.contains(node.get()));
}

TEST(Recompute, CanBeSwitchedOff) {
  const auto text_of = [](ProgramOptions options) {
    options.pipelined = true;
    return ir::to_text(compile(ir::parse_graph(chain()), options)->graph());
  };
  const std::string none = text_of({});
  EXPECT_NE(text_of({.recomputation = Recomputation::then_backward}), none);
  EXPECT_EQ(
      text_of({.recomputation = Recomputation::then_backward, .disabled_passes = {"recompute"}}),
      none);
}

TEST(Recompute, TheLayerMarksACheckpoint) {
  const TestNetwork test = {
      "dense",
      Sequential({4}, {Dense({.units = 4, .activation = "tanh", .name = "a"}),
                       Dense({.units = 4, .activation = "tanh", .name = "b"}),
                       RecomputationCheckpoint(), Dense({.units = 2, .name = "c"})}),
      Loss("mean_squared_error")};
  const auto program =
      compile(training_graph(test, 2), {.recomputation = Recomputation::interleaved});
  std::map<std::string, int> calls;
  for (const Call& call : program->calls()) ++calls[call.node->op() + " " + call.node->name()];
  EXPECT_EQ(calls["dense a"], 2);
  EXPECT_EQ(calls["tanh a"], 2);
  EXPECT_EQ(calls["dense b"], 1);  // not recomputed: the checkpoint keeps its result
  EXPECT_EQ(calls["tanh b"], 1);
  EXPECT_EQ(calls["dense c"], 1);
}

}  // namespace
}  // namespace pando::compiler

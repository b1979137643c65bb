#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/compiler/pipeline.h"
#include "tests/compiler/stage_testing.h"
#include "tests/support/expect_error.h"

namespace pando::compiler {
namespace {

using testing_support::error_of;

// Two stages; `p` comes after backward like a metric, although it does not depend on the seed.
constexpr std::string_view kTwoStages = R"(graph(x: f32[2,4] feed, y: i32[2] feed,
    k: f32[4,3] variable, m: f32[3,2] variable) {
    a = dense(x, k)
    b = tanh(a)
    c = dense(b, m) ^1
    l = cross_entropy(c, y) {from_logits=1} ^1
    s = loss_seed() {batch=2} ^1
    dc = cross_entropy_grad(s, c, y) {from_logits=1} ^1
    db = dense_input_grad(dc, m) ^1
    da = tanh_grad(db, b)
    dk = dense_filter_grad(x, da)
    dm = dense_filter_grad(b, dc) ^1
    p = softmax(c) ^1
    return loss l=l, metric p=l, gradient k=dk, gradient m=dm, result p=p })";

CompileState split(std::string_view text, bool pipelined = true) {
  CompileState state = named_state(text, {.pipelined = pipelined});
  SplitStages().run(state);
  EXPECT_NO_THROW(ir::verify(state.graph));
  return state;
}

TEST(SplitStages, ForwardByStageThenBackwardFromTheLast) {
  const CompileState state = split(kTwoStages);
  EXPECT_EQ(section_lines(state), (Lines{"f0: a b", "f1: c l p", "b1: s dc db dm", "b0: da dk"}));
}

TEST(SplitStages, MarksEverySection) {
  const CompileState state = split(kTwoStages);
  ASSERT_EQ(state.sections.size(), 4u);
  EXPECT_EQ(state.sections[1].stage, 1);
  EXPECT_FALSE(state.sections[1].backward);
  EXPECT_EQ(state.sections[3].stage, 0);
  EXPECT_TRUE(state.sections[3].backward);
  EXPECT_EQ(state.section_of.size(), state.graph.nodes().size());
}

TEST(SplitStages, BackwardIsWhatDependsOnTheSeed) {
  const CompileState state = typed_state(kTwoStages);
  std::string names;
  const auto backward = backward_nodes(state.graph);
  for (const auto& node : state.graph.nodes()) {
    if (backward.contains(node.get())) names += " " + node->output()->name();
  }
  EXPECT_EQ(names, " s dc db da dk dm");
}

TEST(SplitStages, SaysWhetherTheOrderChanged) {
  CompileState state = named_state(kTwoStages, {.pipelined = true});
  EXPECT_TRUE(SplitStages().run(state));
  state.sections.clear();
  state.section_of.clear();
  EXPECT_FALSE(SplitStages().run(state));
}

TEST(SplitStages, BranchesOfDifferentStagesMayBeMixed) {
  const CompileState state = split(R"(graph(x: f32[2,4] feed) {
    a = tanh(x)
    b = tanh(a) ^1
    c = tanh(a)
    d = add(b, c) ^1
    return result d=d })");
  EXPECT_EQ(section_lines(state), (Lines{"f0: a c", "f1: b d"}));
}

TEST(SplitStages, EvaluationHasForwardSectionsOnly) {
  const CompileState state = split(R"(graph(x: f32[2,4] feed, y: i32[2] feed) {
    a = tanh(x)
    b = tanh(a) ^1
    c = tanh(b) ^2
    l = cross_entropy(c, y) {from_logits=1} ^2
    return loss l=l })");
  EXPECT_EQ(section_lines(state), (Lines{"f0: a", "f1: b", "f2: c l"}));
}

TEST(SplitStages, ResidualConnectionsSkipStagesInBothDirections) {
  const CompileState state = split(R"(graph(x: f32[2,4] feed, y: i32[2] feed,
    k: f32[4,4] variable) {
    a = dense(x, k)
    b = tanh(a) ^1
    c = add(b, a) ^2
    l = cross_entropy(c, y) {from_logits=1} ^2
    s = loss_seed() {batch=2} ^2
    dc = cross_entropy_grad(s, c, y) {from_logits=1} ^2
    db = tanh_grad(dc, b) ^1
    da = add(dc, db)
    dk = dense_filter_grad(x, da)
    return loss l=l, gradient k=dk })");
  EXPECT_EQ(section_lines(state),
            (Lines{"f0: a", "f1: b", "f2: c l", "b2: s dc", "b1: db", "b0: da dk"}));
}

TEST(SplitStages, AStageWithoutNodesHasEmptySections) {
  const CompileState state = split(R"(graph(x: f32[2,4] feed) {
    a = tanh(x)
    b = tanh(a) ^2
    return result b=b })");
  EXPECT_EQ(section_lines(state), (Lines{"f0: a", "f1:", "f2: b"}));
}

TEST(SplitStages, OneStageHasTwoSections) {
  const CompileState state = split(R"(graph() {
    s = loss_seed() {batch=2}
    d = scale(s) {factor=2.0}
    return result d=d })");
  EXPECT_EQ(section_lines(state), (Lines{"f0:", "b0: s d"}));
}

// Packed variables are made before all sections, so any stage may read them.
TEST(SplitStages, APackedVariableMayBeSharedByStages) {
  const CompileState state = split(R"(graph(x: f32[2,4] feed, k: f32[4,4] variable) {
    a = tanh(x)
    p = pack(k) {layout="mine"} ^1
    b = dense(a, p) ^1
    c = dense(a, p)
    d = add(b, c) ^1
    return result d=d })");
  EXPECT_EQ(section_lines(state), (Lines{"f0: a p c", "f1: b d"}));
}

TEST(SplitStages, UnpipelinedGraphsStayAsTheyAre) {
  const CompileState state = split(kTwoStages, false);
  EXPECT_TRUE(state.sections.empty());
  EXPECT_TRUE(state.section_of.empty());
  EXPECT_EQ(section_lines(state), Lines{"all: a b c l s dc db da dk dm p"});
  expect_unchanged<SplitStages>(kTwoStages);
}

TEST(SplitStages, AStageMayNotReadFromALaterOne) {
  const std::string error = error_of([] {
    split(R"(graph(x: f32[2,4] feed) {
      a = tanh(x) ^1
      b = tanh(a)
      return result b=b })");
  });
  EXPECT_SAYS(error, "tanh 'b'", "stage 0", "tanh 'a'", "stage 1");
  EXPECT_SAYS(error, "earlier");
}

TEST(SplitStages, NorBackwardFromAnEarlierOne) {
  const std::string error = error_of([] {
    split(R"(graph(x: f32[2] feed) {
      a = tanh(x) ^1
      s = loss_seed() {batch=2}
      b = tanh_grad(s, a) ^1
      return result b=b })");
  });
  EXPECT_SAYS(error, "tanh_grad 'b'", "stage 1", "loss_seed 's'", "stage 0");
}

TEST(SplitStages, CannotBeSwitchedOff) {
  CompileState state = named_state(kTwoStages, {.disabled_passes = {"split-stages"}});
  EXPECT_SAYS(error_of([&] { default_pipeline().run(state); }), "pass 'split-stages'");
}

}  // namespace
}  // namespace pando::compiler

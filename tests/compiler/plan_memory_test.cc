#include <gtest/gtest.h>

#include "pando/compiler/program.h"
#include "tests/compiler/pass_testing.h"
#include "tests/compiler/playback.h"
#include "tests/support/training_graphs.h"

namespace pando::compiler {
namespace {

class PlanOfNetwork : public testing::TestWithParam<std::pair<const char*, Shape>> {
 protected:
  void check(const ProgramOptions& options, bool shares) const {
    const TestNetwork network = test_network(GetParam().first, GetParam().second);
    const auto program = compile(training_graph(network, 4), options);
    Playback(*program).run();
    const MemoryPlan& plan = program->memory();
    if (shares) {
      EXPECT_LT(plan.planned_bytes(), plan.unshared_bytes);
    } else {
      EXPECT_EQ(plan.planned_bytes(), plan.unshared_bytes);
    }
  }
};

TEST_P(PlanOfNetwork, NoValueIsOverwrittenWhileLive) { check({.slices = 2}, true); }

TEST_P(PlanOfNetwork, NorInParts) { check({.slices = 8, .division = Division::parts}, true); }

TEST_P(PlanOfNetwork, NorWithoutFusion) {
  check({.disabled_passes = {"fuse-post-ops", "fuse-pool-grad", "fuse-conv-pool",
                             "fuse-conv-pool-grad", "fuse-batch-norm-grad", "erase-dead"}},
        true);
}

TEST_P(PlanOfNetwork, EveryValueHasItsOwnPlaceWhenSwitchedOff) {
  check({.disabled_passes = {"plan-memory"}}, false);
}

INSTANTIATE_TEST_SUITE_P(Zoo, PlanOfNetwork,
                         testing::Values(std::pair{"mnist_cnn", Shape{28, 28, 1}},
                                         std::pair{"toy_model_bn", Shape{32, 32, 3}},
                                         std::pair{"cifar_resnet8", Shape{32, 32, 3}},
                                         std::pair{"cosmoflow", Shape{32, 32, 32, 4}}),
                         [](const auto& network) { return std::string(network.param.first); });

// The plan of IR text, and the place of one of its values.
struct Planned {
  CompileState state;
  explicit Planned(std::string_view text, ProgramOptions options = {}) : state(typed_state(text)) {
    state.options = std::move(options);
    PlanMemory().run(state);
    Playback(state).run();
  }
  size_t offset(std::string_view name) const {
    return state.memory.places.at(state.graph.find_value(name)).offset;
  }
  Region region(std::string_view name) const {
    return state.memory.places.at(state.graph.find_value(name)).region;
  }
};

TEST(PlanMemory, ChangesPlacesOnly) {
  expect_unchanged<PlanMemory>("graph(x: f32[2,3] feed) { y = relu(x) return result y=y }");
}

// Workers write one half of a value each; the halves of values that share memory lie together.
TEST(PlanMemory, InPartsMiddlesLieTogether) {
  const char* text = R"(graph(x: f32[1,8,8,4] feed, k: f32[1,1,4,32] variable,
      l: f32[1,1,32,4] variable, m: f32[1,1,4,16] variable, n: f32[1,1,16,2] variable) {
    a = conv(x, k)
    b = conv(a, l)
    c = conv(b, m)
    y = conv(c, n)
    return result y=y })";
  const auto middle = [](const Planned& plan, const char* name) {
    return plan.offset(name) + plan.state.graph.find_value(name)->bytes() / 2;
  };
  const Planned parts(text, {.slices = 2, .division = Division::parts});
  EXPECT_EQ(middle(parts, "c"), middle(parts, "a"));
  EXPECT_EQ(middle(parts, "y"), middle(parts, "b"));
  const Planned whole(text, {.slices = 2});
  EXPECT_NE(middle(whole, "c"), middle(whole, "a"));
  EXPECT_EQ(whole.offset("c"), whole.offset("a"));
  EXPECT_EQ(parts.state.memory.planned_bytes(), whole.state.memory.planned_bytes());
}

TEST(PlanMemory, ElementwiseResultsOverwriteWhatNobodyReadsAgain) {
  const Planned plan(R"(graph(x: f32[4,16] feed) {
    a = tanh(x)
    b = tanh(a)
    c = tanh(b)
    return result c=c })");
  EXPECT_NE(plan.offset("a"), plan.offset("x"));  // feeds are kept
  EXPECT_EQ(plan.offset("b"), plan.offset("a"));
  EXPECT_EQ(plan.offset("c"), plan.offset("a"));
  EXPECT_EQ(plan.state.memory.stages[0].activations, 2 * 4 * 16 * sizeof(float));
  EXPECT_EQ(plan.state.memory.unshared_bytes, 4 * 4 * 16 * sizeof(float));  // x, a, b, c
}

TEST(PlanMemory, ElementwiseResultsSpareWhatIsReadAgain) {
  const Planned plan(R"(graph(x: f32[4,16] feed) {
    a = tanh(x)
    b = tanh(a)
    c = add(b, a)
    return result c=c })");
  EXPECT_NE(plan.offset("b"), plan.offset("a"));
  EXPECT_EQ(plan.offset("c"), plan.offset("b"));
}

TEST(PlanMemory, ViewsLieInTheirSource) {
  const Planned plan(R"(graph(x: f32[4,2,2,4] feed) {
    a = tanh(x)
    v = reshape(a) {shape=[16]}
    b = softmax(v)
    c = relu(a)
    return result b=b, result c=c, result v=v })");
  EXPECT_EQ(plan.offset("v"), plan.offset("a"));
  EXPECT_NE(plan.offset("c"), plan.offset("a"));                            // v is an output
  EXPECT_EQ(plan.state.memory.unshared_bytes, 4 * 4 * 16 * sizeof(float));  // x, a, b, c
}

TEST(PlanMemory, CheckpointsTakeNoMemory) {
  const Planned plan(R"(graph(x: f32[4,2,2,4] feed) {
    a = tanh(x)
    c = checkpoint(a)
    b = softmax(c)
    return result b=b })");
  EXPECT_EQ(plan.offset("c"), plan.offset("a"));
}

TEST(PlanMemory, AViewKeepsItsSourceAlive) {
  const Planned plan(R"(graph(x: f32[4,2,2,4] feed) {
    a = softmax(x)
    v = reshape(a) {shape=[16]}
    b = softmax(x)
    c = softmax(v)
    d = reshape(c) {shape=[2,2,4]}
    e = add(d, b)
    return result e=e })");
  EXPECT_NE(plan.offset("b"), plan.offset("a"));
}

TEST(PlanMemory, WhatOtherSlicesReadLivesToTheEnd) {
  const Planned plan(R"(graph(x: f32[4,16] feed, g: f32[16] variable, b: f32[16] variable) {
    m = batch_moments(x)
    mean, variance, unbiased = combine_moments(m)
    y = batch_norm(x, mean, variance, g, b) {batch_statistics=1}
    n = batch_moments(y)
    mean2, variance2, unbiased2 = combine_moments(n)
    z = batch_norm(y, mean2, variance2, g, b) {batch_statistics=1}
    return result z=z })");
  EXPECT_EQ(plan.region("m"), Region::sums);
  EXPECT_EQ(plan.region("mean"), Region::sums);
  EXPECT_EQ(plan.region("y"), Region::activations);
  // Without this rule, n would be placed at the offset of m.
  EXPECT_NE(plan.offset("n"), plan.offset("m"));
}

TEST(PlanMemory, SumsOfSumsAreSums) {
  const Planned plan(R"(graph(x: f32[4,8] feed, dy: f32[4,2] feed, k: f32[8,2] variable) {
    a = dense_filter_grad(x, dy)
    b = dense_filter_grad(x, dy)
    d = add(a, b)
    y = dense(x, k)
    return gradient k=d, result y=y })");
  EXPECT_EQ(plan.region("a"), Region::gradients);
  EXPECT_EQ(plan.region("d"), Region::gradients);
  EXPECT_EQ(plan.region("b"), Region::sums);
  EXPECT_EQ(plan.region("y"), Region::activations);
  // x, dy and y in blocks of 64 bytes; a, b and d, although d overwrites a.
  EXPECT_EQ(plan.state.memory.unshared_bytes, 128u + 64 + 64 + 3 * 64);
  EXPECT_EQ(plan.state.memory.stages[0].sums, 64u);
  EXPECT_EQ(plan.state.memory.stages[0].gradients, 64u);
}

TEST(PlanMemory, AViewOfAVariableIsRefused) {
  EXPECT_THROW(Planned(R"(graph(x: f32[4,8] feed, k: f32[8,2] variable) {
    v = reshape(k) {shape=[2]}
    y = dense(x, v)
    return result y=y })"),
               InternalError);
}

}  // namespace
}  // namespace pando::compiler

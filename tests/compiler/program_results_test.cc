// Checks that programs compute the same numbers, to the bit, in planned memory, however the graph
// is cut into sections.
#include <gtest/gtest.h>

#include "pando/nn/layers.h"
#include "tests/compiler/program_runner.h"
#include "tests/compiler/split_networks.h"

namespace pando::compiler {
namespace {

constexpr int64_t kBatch = 2;

using Outputs = ProgramRunner::Outputs;

Outputs run(const TestNetwork& test, ProgramOptions options) {
  const auto program = compile(training_graph(test, kBatch), std::move(options));
  const test::Values inputs = random_inputs(program->graph(), 10);
  return ProgramRunner(*program, inputs).run(kBatch);
}

void expect_same(const Outputs& found, const Outputs& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [name, numbers] : wanted) EXPECT_TRUE(found.at(name) == numbers) << name;
}

class ResultsOfPipeline : public testing::TestWithParam<SplitNetwork> {};

TEST_P(ResultsOfPipeline, AreThoseOfTheWholeStep) {
  const TestNetwork test = GetParam().build();
  const Outputs whole = run(test, {});
  for (const Recomputation mode : kModes) {
    SCOPED_TRACE(label_of(mode));
    expect_same(run(test, {.pipelined = true, .recomputation = mode}), whole);
    expect_same(
        run(test, {.pipelined = true, .recomputation = mode, .disabled_passes = {"plan-memory"}}),
        whole);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ResultsOfPipeline, testing::ValuesIn(split_networks()),
                         [](const auto& split) { return split.param.label; });

TEST(ProgramResults, CheckpointsChangeNothing) {
  const TestNetwork test = {
      "dense",
      Sequential({6},
                 {Dense({.units = 5, .activation = "tanh", .name = "a"}), Dropout({.rate = 0.5}),
                  RecomputationCheckpoint(), Dense({.units = 5, .activation = "relu", .name = "b"}),
                  Dense({.units = 4, .activation = "tanh", .name = "c"}),
                  RecomputationCheckpoint({.name = "second"}),
                  Dense({.units = 3, .activation = "tanh", .name = "d"})}),
      Loss("mean_squared_error")};
  const Outputs whole = run(test, {});
  expect_same(run(test, {.recomputation = Recomputation::interleaved}), whole);
  TestNetwork split = test;
  for (const char* first : {"b", "c", "second"}) {
    SCOPED_TRACE(first);
    split.network = test.network.with_splits({first});
    const Outputs kept = run(split, {.pipelined = true});
    expect_same(run(split, {.pipelined = true, .recomputation = Recomputation::interleaved}), kept);
    expect_same(run(split, {.pipelined = true, .recomputation = Recomputation::then_backward}),
                kept);
  }
}

// The pooling of stage 1 applies the mask of the activation of stage 0, which therefore holds less.
TEST(ProgramResults, PoolGradientsMayMaskForTheStageBefore) {
  const SplitNetwork split = {"", "mnist_cnn", {28, 28, 1}, {"max_pooling2d", "max_pooling2d_1"}};
  const TestNetwork test = split.build();
  const ProgramOptions apart = {.pipelined = true, .disabled_passes = {"fuse-pool-grad"}};
  const auto program = compile(training_graph(test, kBatch), {.pipelined = true});
  int masks = 0;
  for (const Call& call : program->calls()) {
    EXPECT_NE(call.node->op(), "relu_grad");
    if (call.node->op() == "max_pool_grad" && call.node->num_inputs() == 3) ++masks;
  }
  EXPECT_EQ(masks, 2);
  const Outputs wanted = run(test, apart);
  for (const Recomputation mode : kModes) {
    SCOPED_TRACE(label_of(mode));
    expect_same(run(test, {.pipelined = true, .recomputation = mode}), wanted);
  }
}

}  // namespace
}  // namespace pando::compiler

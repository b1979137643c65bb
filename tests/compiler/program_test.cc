#include "pando/compiler/program.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/compiler/program_of.h"
#include "tests/support/training_graphs.h"

namespace pando::compiler {
namespace {

// Two places where slices wait for each other: the statistics and the totals of the gradient.
constexpr std::string_view kBatchNorm = R"(graph(x: f32[4,8] feed, g: f32[8] variable,
    b: f32[8] variable, dy: f32[4,8] feed) {
    m = batch_moments(x)
    mean, variance, unbiased = combine_moments(m)
    y = batch_norm(x, mean, variance, g, b) {batch_statistics=1}
    db, dg = batch_norm_sums(dy, x, mean, variance)
    s = sum_slices(db)
    t = sum_slices(dg)
    dx = batch_norm_input_grad(dy, x, mean, variance, g, s, t)
    return result y=y, result dx=dx, gradient b=db, gradient g=dg })";

std::vector<std::string> ops_of(const Program& program, const Segment& segment) {
  std::vector<std::string> ops;
  for (const int call : segment.calls) {
    ops.push_back(program.calls()[static_cast<size_t>(call)].node->op());
  }
  return ops;
}

const std::vector<Segment>& segments_of(const Program& program) {
  EXPECT_EQ(program.sections().size(), 1u);
  return program.sections()[0].segments;
}

using Ops = std::vector<std::string>;

TEST(Program, OneSliceNeverWaits) {
  const auto program = program_of(kBatchNorm, {});
  ASSERT_EQ(segments_of(*program).size(), 1u);
  EXPECT_EQ(segments_of(*program)[0].calls.size(), program->calls().size());
}

TEST(Program, BatchSlicesWaitWhereTheyGather) {
  const auto program = program_of(kBatchNorm, {.slices = 2});
  ASSERT_EQ(segments_of(*program).size(), 3u);
  EXPECT_EQ(ops_of(*program, segments_of(*program)[0]), Ops{"batch_moments"});
  EXPECT_EQ(ops_of(*program, segments_of(*program)[1]),
            (Ops{"combine_moments", "batch_norm", "batch_norm_sums"}));
  EXPECT_EQ(ops_of(*program, segments_of(*program)[2]),
            (Ops{"sum_slices", "sum_slices", "batch_norm_input_grad"}));
}

TEST(Program, SlicesWaitForWhatAViewShows) {
  const auto program = program_of(R"(graph(x: f32[4,8] feed) {
    m = batch_moments(x)
    v = reshape(m) {shape=[1]}
    t = sum_slices(v)
    return result t=t })",
                                  {.slices = 2});
  EXPECT_EQ(segments_of(*program).size(), 2u);
}

TEST(Program, PartsWaitAfterEveryCall) {
  const auto program = program_of(kBatchNorm, {.slices = 2, .division = Division::parts});
  EXPECT_EQ(segments_of(*program).size(), program->calls().size());
  for (const Segment& segment : segments_of(*program)) EXPECT_EQ(segment.calls.size(), 1u);
}

TEST(Program, PackedVariablesAreThePrologue) {
  const auto program = compile(training_graph(test_network("cifar_resnet8", {16, 16, 3}), 2));
  ASSERT_EQ(program->prologue().size(), 1u);
  for (const int call : program->prologue()[0].calls) {
    EXPECT_EQ(program->calls()[static_cast<size_t>(call)].node->op(), "pack");
  }
  for (const Segment& segment : segments_of(*program)) {
    for (const std::string& op : ops_of(*program, segment)) EXPECT_NE(op, "pack");
  }
}

TEST(Program, ViewsAreNotCalled) {
  const auto program = program_of(R"(graph(x: f32[2,4] feed) {
    v = reshape(x) {shape=[2,2]}
    y = relu(v)
    return result y=y })",
                                  {});
  EXPECT_EQ(program->calls().size(), 1u);
}

TEST(Program, SlicesThatNeverWaitShareTheActivationsOfTheirWorker) {
  const std::string_view text = "graph(x: f32[2,4] feed) { y = relu(x) return result y=y }";
  const auto free = program_of(text, {.slices = 4});
  EXPECT_TRUE(free->depth_first());
  EXPECT_EQ(free->activation_blocks(3), 3u);
  EXPECT_EQ(free->activation_blocks(8), 4u);
  const auto waiting = program_of(kBatchNorm, {.slices = 4});
  EXPECT_FALSE(waiting->depth_first());
  EXPECT_EQ(waiting->activation_blocks(3), 4u);
  const auto parts = program_of(text, {.slices = 4, .division = Division::parts});
  EXPECT_FALSE(parts->depth_first());
  EXPECT_EQ(parts->activation_blocks(3), 1u);
}

TEST(Program, VariablesAreExternal) {
  const auto program = program_of(kBatchNorm, {});
  const Operand gamma = program->operand(program->graph().find_value("g"));
  EXPECT_EQ(gamma.place.region, Region::external);
  EXPECT_EQ(gamma.value->name(), "g");
}

// Two stages with batch statistics in the second.
constexpr std::string_view kStages = R"(graph(x: f32[4,8] feed, y: i32[4] feed,
    g: f32[8] variable, b: f32[8] variable) {
    a = tanh(x)
    m = batch_moments(a)
    mean, variance, unbiased = combine_moments(m) ^1
    e = batch_norm(a, mean, variance, g, b) {batch_statistics=1} ^1
    l = cross_entropy(e, y) {from_logits=1} ^1
    s = loss_seed() {batch=4} ^1
    de = cross_entropy_grad(s, e, y) {from_logits=1} ^1
    db, dg = batch_norm_sums(de, a, mean, variance) ^1
    return loss l=l, gradient b=db, gradient g=dg })";

TEST(Program, SectionsFollowTheStages) {
  const auto program = program_of(kStages, {.pipelined = true});
  EXPECT_TRUE(program->pipelined());
  EXPECT_EQ(program->stages(), 2);
  ASSERT_EQ(program->sections().size(), 4u);
  EXPECT_EQ(program->section(0, false), 0);
  EXPECT_EQ(program->section(1, false), 1);
  EXPECT_EQ(program->section(1, true), 2);
  EXPECT_EQ(program->section(0, true), 3);
  EXPECT_EQ(program->section(2, false), -1);
  EXPECT_EQ(program->last_forward_section(), 1);
  ASSERT_EQ(program->sections()[0].segments.size(), 1u);
  EXPECT_EQ(ops_of(*program, program->sections()[0].segments[0]), (Ops{"tanh", "batch_moments"}));
  EXPECT_TRUE(program->sections()[3].segments[0].calls.empty());
}

TEST(Program, CallsKnowTheirSection) {
  const auto program = program_of(kStages, {.pipelined = true});
  for (size_t i = 0; i < program->sections().size(); ++i) {
    for (const int call : program->sections()[i].segments[0].calls) {
      EXPECT_EQ(program->calls()[static_cast<size_t>(call)].section, static_cast<int>(i));
    }
  }
  const auto network = compile(training_graph(test_network("mnist_cnn", {28, 28, 1}), 2));
  ASSERT_FALSE(network->prologue().empty());
  for (const int call : network->prologue()[0].calls) {
    EXPECT_EQ(network->calls()[static_cast<size_t>(call)].section, -1);
  }
}

TEST(Program, WithoutAPipelineThereIsOneSection) {
  const auto program = program_of(kStages, {});
  EXPECT_FALSE(program->pipelined());
  EXPECT_EQ(program->stages(), 1);
  EXPECT_EQ(program->sections().size(), 1u);
  EXPECT_EQ(program->section(0, false), 0);
  EXPECT_EQ(program->section(0, true), -1);
  EXPECT_EQ(program->last_forward_section(), 0);
}

// The first segment has no calls: when it ends, all slices have finished the section before.
TEST(Program, SlicesWaitForWhatAnEarlierSectionMade) {
  const auto program = program_of(kStages, {.slices = 2, .pipelined = true});
  EXPECT_EQ(program->sections()[0].segments.size(), 1u);
  ASSERT_EQ(program->sections()[1].segments.size(), 2u);
  EXPECT_TRUE(program->sections()[1].segments[0].calls.empty());
  EXPECT_EQ(ops_of(*program, program->sections()[1].segments[1]),
            (Ops{"combine_moments", "batch_norm", "cross_entropy"}));
  EXPECT_EQ(program->sections()[2].segments.size(), 1u);
  EXPECT_FALSE(program->depth_first());
}

TEST(Program, SlicesWaitForAnEarlierSectionOnce) {
  const auto program = program_of(R"(graph(x: f32[4,8] feed) {
    m = batch_moments(x)
    s = sum_slices(m) ^1
    t = sum_slices(m) ^1
    return result s=s, result t=t })",
                                  {.slices = 2, .pipelined = true});
  EXPECT_EQ(program->sections()[1].segments.size(), 2u);
}

TEST(Program, WantsAtLeastOneSlice) {
  EXPECT_THROW(program_of(kBatchNorm, {.slices = 0}), InvalidArgument);
}

}  // namespace
}  // namespace pando::compiler

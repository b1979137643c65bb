// Tests of plan-memory for a pipeline: regions, buckets of gradients, recomputation.
#include <gtest/gtest.h>

#include "pando/compiler/program.h"
#include "tests/compiler/pass_testing.h"
#include "tests/compiler/playback.h"
#include "tests/compiler/split_networks.h"

namespace pando::compiler {
namespace {

class PlanOfPipeline : public testing::TestWithParam<SplitNetwork> {
 protected:
  std::unique_ptr<const Program> program(ProgramOptions options) const {
    options.pipelined = true;
    return compile(training_graph(GetParam().build(), 4), std::move(options));
  }
};

// Values that live in one section lie in the memory of its stage; held values may lie in that of an
// earlier stage.
void expect_places(const Program& program) {
  for (const Call& call : program.calls()) {
    if (call.section < 0) continue;
    const int stage = program.sections()[static_cast<size_t>(call.section)].stage;
    std::vector<Operand> operands = call.inputs;
    operands.insert(operands.end(), call.outputs.begin(), call.outputs.end());
    for (const Operand& operand : operands) {
      const Region region = operand.place.region;
      if (region == Region::packed || region == Region::external) continue;
      if (region == Region::held_activations || region == Region::held_sums) {
        EXPECT_LE(operand.place.stage, stage) << operand.value->name();
      } else {
        EXPECT_EQ(operand.place.stage, stage) << operand.value->name();
      }
    }
  }
}

TEST_P(PlanOfPipeline, NoValueIsOverwrittenWhileLive) {
  for (const Recomputation mode : kModes) {
    for (const int slices : {1, 2}) {
      SCOPED_TRACE(testing::Message() << label_of(mode) << ", slices " << slices);
      const auto shared = program({.slices = slices, .recomputation = mode});
      EXPECT_EQ(shared->stages(), static_cast<int>(GetParam().splits.size()) + 1);
      Playback(*shared).run();
      expect_places(*shared);
      EXPECT_LT(shared->memory().planned_bytes(), shared->memory().unshared_bytes);
    }
  }
}

TEST_P(PlanOfPipeline, NorWithoutSharing) {
  for (const Recomputation mode : kModes) {
    SCOPED_TRACE(label_of(mode));
    const auto unshared = program({.recomputation = mode, .disabled_passes = {"plan-memory"}});
    Playback(*unshared).run();
    expect_places(*unshared);
    EXPECT_EQ(unshared->memory().planned_bytes(), unshared->memory().unshared_bytes);
  }
}

TEST_P(PlanOfPipeline, NorInEvaluation) {
  const auto evaluation =
      compile(graph_of(GetParam().build(), RunMode::evaluate, 4), {.pipelined = true});
  Playback(*evaluation).run();
  expect_places(*evaluation);
  EXPECT_EQ(evaluation->section(0, true), -1);
  EXPECT_TRUE(evaluation->memory().buckets.empty());
}

// Position of each node in the order of the graph.
std::unordered_map<const ir::Node*, size_t> positions(const ir::Graph& graph) {
  std::unordered_map<const ir::Node*, size_t> found;
  for (const auto& node : graph.nodes()) found.emplace(node.get(), found.size());
  return found;
}

std::vector<const ir::Value*> gradients_by_place(const Program& program, int stage) {
  std::vector<const ir::Value*> values;
  const auto offset = [&](const ir::Value* value) { return program.operand(value).place.offset; };
  for (const ir::Output& output : program.graph().outputs()) {
    if (output.role != ir::OutputRole::gradient) continue;
    const Place place = program.operand(output.value).place;
    EXPECT_EQ(place.region, Region::gradients) << output.name;
    EXPECT_EQ(place.stage, output.value->producer()->stage()) << output.name;
    if (place.stage == stage) values.push_back(output.value);
  }
  std::sort(values.begin(), values.end(),
            [&](const ir::Value* a, const ir::Value* b) { return offset(a) < offset(b); });
  return values;
}

// Gradients lie in the order of their completion, each in one bucket. Buckets are no larger than
// necessary, end with the node that completes them and fill the region.
void expect_buckets(const Program& program, int stage) {
  const auto order = positions(program.graph());
  const std::vector<const ir::Value*> gradients = gradients_by_place(program, stage);
  size_t next = 0;  // gradient
  size_t begin = 0;
  for (const Bucket& bucket : program.memory().buckets) {
    if (bucket.stage != stage) continue;
    EXPECT_EQ(bucket.begin, begin);
    begin = bucket.end;
    const ir::Node* last = nullptr;
    for (; next < gradients.size(); ++next) {
      const size_t offset = program.operand(gradients[next]).place.offset;
      if (offset >= bucket.end) break;
      EXPECT_LE(offset + gradients[next]->bytes(), bucket.end);
      const ir::Node* producer = gradients[next]->producer();
      EXPECT_LE(last == nullptr ? 0 : order.at(last), order.at(producer));
      last = producer;
    }
    EXPECT_EQ(bucket.last, last);
    const bool at_end = next == gradients.size();
    EXPECT_TRUE(at_end || bucket.end - bucket.begin >= program.options().bucket_bytes);
  }
  EXPECT_EQ(next, gradients.size());
  EXPECT_EQ(begin, program.memory().stages[static_cast<size_t>(stage)].gradients);
}

TEST_P(PlanOfPipeline, BucketsHoldTheGradientsInTheOrderOfBackward) {
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{1} << 20}) {
    SCOPED_TRACE(testing::Message() << bytes << " bytes");
    const auto bucketed = program({.bucket_bytes = bytes});
    for (int stage = 0; stage < bucketed->stages(); ++stage) expect_buckets(*bucketed, stage);
    const auto order = positions(bucketed->graph());
    const std::vector<Bucket>& buckets = bucketed->memory().buckets;
    ASSERT_FALSE(buckets.empty());
    for (size_t i = 1; i < buckets.size(); ++i) {
      EXPECT_LT(order.at(buckets[i - 1].last), order.at(buckets[i].last));
    }
  }
}

TEST_P(PlanOfPipeline, EveryBucketIsCompletedByOneCallOfItsStage) {
  const auto bucketed = program({.bucket_bytes = 1});
  std::vector<int> completed(bucketed->memory().buckets.size(), 0);
  for (const Call& call : bucketed->calls()) {
    if (call.bucket < 0) continue;
    const Bucket& bucket = bucketed->memory().buckets.at(static_cast<size_t>(call.bucket));
    ++completed[static_cast<size_t>(call.bucket)];
    EXPECT_EQ(call.node, bucket.last);
    EXPECT_EQ(call.section, bucketed->section(bucket.stage, true));
  }
  EXPECT_EQ(completed, std::vector<int>(completed.size(), 1));
}

INSTANTIATE_TEST_SUITE_P(Zoo, PlanOfPipeline, testing::ValuesIn(split_networks()),
                         [](const auto& split) { return split.param.label; });

TEST(PlanStages, RecomputationHoldsLess) {
  const SplitNetwork split = {
      "", "cifar_resnet8", {32, 32, 3}, {"conv2_block1_layer2_bn", "conv3_block1_add"}};
  const auto stages_of = [&](Recomputation mode) {
    const auto program =
        compile(training_graph(split.build(), 4), {.pipelined = true, .recomputation = mode});
    return program->memory().stages;
  };
  const auto none = stages_of(Recomputation::none);
  for (const Recomputation mode : {Recomputation::then_backward, Recomputation::interleaved}) {
    SCOPED_TRACE(label_of(mode));
    const auto again = stages_of(mode);
    for (const size_t stage : {size_t{0}, size_t{1}}) {
      EXPECT_LT(again[stage].held_activations, none[stage].held_activations);
      EXPECT_LT(again[stage].held_sums, none[stage].held_sums);
    }
    EXPECT_EQ(again[2].held_activations, none[2].held_activations);
    EXPECT_EQ(again[2].held_sums, none[2].held_sums);
  }
}

// The plan of IR text as a pipeline.
struct PlannedStages {
  CompileState state;
  explicit PlannedStages(std::string_view text, ProgramOptions options = {})
      : state(typed_state(text)) {
    state.options = std::move(options);
    state.options.pipelined = true;
    SplitStages().run(state);
    PlanMemory().run(state);
    Playback(state).run();
  }
  std::pair<Region, int> at(std::string_view name) const {
    const Place& place = state.memory.places.at(state.graph.find_value(name));
    return {place.region, place.stage};
  }
};

using At = std::pair<Region, int>;
constexpr Region kHeld = Region::held_activations;

TEST(PlanStages, WhatCrossesASectionIsHeldInTheLowestStage) {
  const PlannedStages plan(R"(graph(x: f32[4,16] feed, y: i32[4] feed, z: f32[4,16] feed,
    k: f32[16,16] variable, m: f32[16,16] variable) {
    w = multiply(x, z)
    a = dense(w, k)
    b = softmax(a)
    c = dense(b, m) ^1
    t = softmax(c) ^1
    e = add(t, a) ^2
    l = cross_entropy(e, y) {from_logits=1} ^2
    s = loss_seed() {batch=4} ^2
    de = cross_entropy_grad(s, e, y) {from_logits=1} ^2
    dc = tanh_grad(de, t) ^1
    db = dense_input_grad(dc, m) ^1
    dm = dense_filter_grad(b, dc) ^1
    da = add(de, db)
    dk = dense_filter_grad(x, da)
    return loss l=l, gradient k=dk, gradient m=dm })");
  EXPECT_EQ(plan.at("x"), At(kHeld, 0));  // read forward and backward
  EXPECT_EQ(plan.at("y"), At(kHeld, 0));  // fed at stage 0, read by stage 2
  EXPECT_EQ(plan.at("z"), At(Region::activations, 0));
  EXPECT_EQ(plan.at("w"), At(Region::activations, 0));
  EXPECT_EQ(plan.at("a"), At(kHeld, 0));  // skips stage 1
  EXPECT_EQ(plan.at("b"), At(kHeld, 0));
  EXPECT_EQ(plan.at("c"), At(Region::activations, 1));
  EXPECT_EQ(plan.at("t"), At(kHeld, 1));
  EXPECT_EQ(plan.at("e"), At(kHeld, 2));
  EXPECT_EQ(plan.at("l"), At(Region::activations, 2));
  EXPECT_EQ(plan.at("s"), At(Region::activations, 2));
  EXPECT_EQ(plan.at("de"), At(kHeld, 0));  // made by stage 2, read by 1 and 0
  EXPECT_EQ(plan.at("dc"), At(Region::activations, 1));
  EXPECT_EQ(plan.at("db"), At(kHeld, 0));
  EXPECT_EQ(plan.at("da"), At(Region::activations, 0));
  EXPECT_EQ(plan.at("dk"), At(Region::gradients, 0));
  EXPECT_EQ(plan.at("dm"), At(Region::gradients, 1));
  const std::vector<StageMemory>& stages = plan.state.memory.stages;
  EXPECT_EQ(stages[0].gradients, 16 * 16 * sizeof(float));
  EXPECT_EQ(stages[1].gradients, 16 * 16 * sizeof(float));
  EXPECT_EQ(stages[2].gradients, 0u);
  EXPECT_EQ(stages[1].held_activations, 4 * 16 * sizeof(float));
}

TEST(PlanStages, ElementwiseResultsDoNotOverwriteAnotherSection) {
  const PlannedStages plan(R"(graph(x: f32[4,16] feed) {
    a = softmax(x)
    b = tanh(a) ^1
    c = tanh(b) ^1
    return result c=c })");
  EXPECT_EQ(plan.at("a"), At(kHeld, 0));
  EXPECT_EQ(plan.at("b"), At(Region::activations, 1));
  EXPECT_EQ(plan.at("c"), At(Region::activations, 1));
}

TEST(PlanStages, StatisticsAreMomentsAndWhatBackwardReadsOfThemIsHeld) {
  const PlannedStages plan(R"(graph(x: f32[4,16] feed, y: i32[4] feed, g: f32[16] variable,
    o: f32[16] variable, moving: f32[16] state) {
    a = tanh(x)
    m = batch_moments(a) ^1
    mean, variance, unbiased = combine_moments(m) ^1
    e = batch_norm(a, mean, variance, g, o) {batch_statistics=1} ^1
    l = cross_entropy(e, y) {from_logits=1} ^1
    s = loss_seed() {batch=4} ^1
    de = cross_entropy_grad(s, e, y) {from_logits=1} ^1
    db, dg = batch_norm_sums(de, a, mean, variance) ^1
    return loss l=l, gradient g=dg, gradient o=db, statistic moving=m })");
  EXPECT_EQ(plan.at("m"), At(Region::moments, 1));
  EXPECT_EQ(plan.at("mean"), At(Region::held_sums, 1));
  EXPECT_EQ(plan.at("variance"), At(Region::held_sums, 1));
  EXPECT_EQ(plan.at("unbiased"), At(Region::sums, 1));
  EXPECT_EQ(plan.state.memory.stages[0].moments, 0u);
  EXPECT_GE(plan.state.memory.stages[1].moments, 33 * sizeof(float));
}

// A variable that two stages use: their contributions are added in the lower stage.
TEST(PlanStages, ASharedVariableHasItsGradientInTheLowestStage) {
  const PlannedStages plan(R"(graph(x: f32[4,8] feed, y: i32[4] feed, k: f32[8,8] variable) {
    a = dense(x, k)
    e = dense(a, k) ^1
    l = cross_entropy(e, y) {from_logits=1} ^1
    s = loss_seed() {batch=4} ^1
    de = cross_entropy_grad(s, e, y) {from_logits=1} ^1
    da = dense_input_grad(de, k) ^1
    p = dense_filter_grad(a, de) ^1
    q = dense_filter_grad(x, da)
    dk = add(p, q)
    return loss l=l, gradient k=dk })");
  EXPECT_EQ(plan.at("p"), At(Region::held_sums, 0));
  EXPECT_EQ(plan.at("q"), At(Region::sums, 0));
  EXPECT_EQ(plan.at("dk"), At(Region::gradients, 0));
  ASSERT_EQ(plan.state.memory.buckets.size(), 1u);
  EXPECT_EQ(plan.state.memory.buckets[0].last, plan.state.graph.find_value("dk")->producer());
}

TEST(PlanStages, ResultsAreThereWhenForwardIsOver) {
  const PlannedStages plan(R"(graph(x: f32[4,16] feed) {
    a = softmax(x)
    b = softmax(a)
    c = softmax(a) ^1
    return result b=b, result c=c })");
  EXPECT_EQ(plan.at("b"), At(kHeld, 0));
  EXPECT_EQ(plan.at("c"), At(Region::activations, 1));
}

TEST(PlanStages, AlsoWhenTheLastStagesHaveNoNodes) {
  const PlannedStages plan(R"(graph(x: f32[4,16] feed) {
    a = softmax(x)
    b = softmax(a) ^1
    return result b=b })",
                           {.stages = 3});
  EXPECT_EQ(plan.state.memory.stages.size(), 3u);
  EXPECT_EQ(plan.at("b"), At(kHeld, 1));
}

// dense_filter_grad completes the gradients of kernel and bias at once. If they were in two
// buckets, one bucket would never be reported as complete.
TEST(PlanStages, ANodeCompletesOneBucketAtMost) {
  const PlannedStages plan(R"(graph(x: f32[4,16] feed, y: i32[4] feed, k: f32[16,16] variable,
    o: f32[16] variable) {
    e = dense(x, k, o)
    l = cross_entropy(e, y) {from_logits=1}
    s = loss_seed() {batch=4}
    de = cross_entropy_grad(s, e, y) {from_logits=1}
    dk, db = dense_filter_grad(x, de)
    return loss l=l, gradient k=dk, gradient o=db })",
                           {.bucket_bytes = 64});
  ASSERT_EQ(plan.state.memory.buckets.size(), 1u);
  EXPECT_EQ(plan.state.memory.buckets[0].end, (16 * 16 + 16) * sizeof(float));
}

}  // namespace
}  // namespace pando::compiler

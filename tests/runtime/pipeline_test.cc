// Pipelines at work: schedules, recomputation and the division among devices do not change a bit.
#include <cmath>

#include "tests/runtime/pipeline_equality.h"

namespace pando::runtime {
namespace {

using compiler::Recomputation;

constexpr std::array kSchedules = {PipelineSchedule::grouped, PipelineSchedule::interleaved,
                                   PipelineSchedule::sequential};

TestNetwork mnist() { return test_network("mnist_cnn", {12, 12, 1}); }
TestNetwork toy_bn() { return test_network("toy_model_bn", {32, 32, 3}); }
TestNetwork small_resnet() { return test_network("cifar_resnet8", {8, 8, 3}); }

// All schedules, with and without recomputation, for each mapping of stages.
std::vector<Way> ways_of(const std::vector<std::vector<int>>& mappings) {
  std::vector<Way> ways;
  for (const PipelineSchedule schedule : kSchedules) {
    for (const Recomputation recomputation :
         {Recomputation::none, Recomputation::then_backward, Recomputation::interleaved}) {
      for (const std::vector<int>& mapping : mappings) {
        ways.push_back({schedule, recomputation, mapping});
      }
    }
  }
  ways.push_back({.recomputation = Recomputation::then_backward, .workers = 2});
  ways.push_back({.schedule = PipelineSchedule::interleaved, .workers = 3});
  return ways;
}

TEST(Pipeline, MnistCnnInTwoStages) {
  for (const int slices : {1, 2}) {
    expect_same_bits({.network = mnist(), .splits = {"conv2d_1"}, .slices = slices},
                     ways_of({{}, {0, 0}, {1, 0}}));
  }
}

TEST(Pipeline, MnistCnnInThreeStages) {
  for (const int slices : {1, 2}) {
    expect_same_bits(
        {.network = mnist(), .splits = {"max_pooling2d", "dropout"}, .batch = 3, .slices = slices},
        ways_of({{}, {0, 0, 0}, {0, 1, 0}}));
  }
}

TEST(Pipeline, MnistCnnInParts) {
  expect_same_bits(
      {.network = mnist(), .splits = {"max_pooling2d", "dense"}, .batch = 1, .slices = 2},
      ways_of({{}, {0, 1, 1}}));
}

TEST(Pipeline, ToyModelWithBatchStatistics) {
  for (const int slices : {1, 2}) {
    expect_same_bits({.network = toy_bn(), .splits = {"conv2d_1"}, .batch = 3, .slices = slices},
                     ways_of({{}, {0, 0}}));
  }
  expect_same_bits({.network = toy_bn(), .splits = {"bn_0", "bn_1"}, .batch = 4, .slices = 2},
                   ways_of({{}, {1, 0, 1}}));
}

// Shortcuts cross one stage or skip one.
TEST(Pipeline, ResidualConnectionsCrossStages) {
  expect_same_bits({.network = small_resnet(),
                    .splits = {"conv2_block1_layer2_conv", "conv3_block1_layer2_conv"},
                    .slices = 2,
                    .micro_batches = 4},
                   ways_of({{}, {0, 0, 0}}));
  expect_same_bits(
      {.network = small_resnet(),
       .splits = {"conv2_block1_layer1_bn", "conv2_block1_layer2_conv", "conv2_block1_add"},
       .micro_batches = 4},
      ways_of({{}, {0, 1, 0, 1}}));
}

TEST(Pipeline, ReplicasOfPipelines) {
  expect_same_bits({.network = mnist(),
                    .splits = {"max_pooling2d", "dropout"},
                    .slices = 2,
                    .micro_batches = 3,
                    .replicas = 2},
                   ways_of({{}, {0, 1, 0}}));
  expect_same_bits(
      {.network = toy_bn(), .splits = {"conv2d_1"}, .batch = 4, .micro_batches = 3, .replicas = 2},
      ways_of({{}}));
}

// Stages keep kernels from being fused, so that the results differ by rounding.
TEST(Pipeline, LearnsAsWithoutStages) {
  const PipelineCase pipelined{.network = mnist(), .splits = {"conv2d_1", "dropout"}, .slices = 2};
  PipelineCase plain = pipelined;
  plain.splits = {};
  const Optimizer sgd = SGD({.learning_rate = 0.1});
  Samples samples(training_fields(plain.network), plain.samples(), 10);
  Trainee expected(plain.network, options_of(plain, {}), sgd);
  Trainee found(staged(pipelined), options_of(pipelined, {}), sgd);
  expected.run(samples.feed(2));
  found.run(samples.feed(2));
  for (const Variable& variable : expected.variables.all()) {
    EXPECT_LT(difference(found.variables.get(variable.name).value, variable.value).absolute, 2e-6)
        << variable.name;
  }
}

struct Inference {
  Totals totals;
  Tensor results;
};

Inference inference(const PipelineCase& test, const Way& way, RunMode mode) {
  Trainee trainee(staged(test), options_of(test, way, mode));
  std::vector<Field> fields = training_fields(test.network);
  if (mode == RunMode::predict) fields.resize(1);
  Samples samples(fields, test.samples(), 10);
  Tensor results(DType::f32, {test.samples(), 10});
  const RunOptions running{.results = mode == RunMode::predict ? results.data() : nullptr};
  // Once in runs of steps, once more in one run of them all.
  trainee.run(samples.feed(test.batch), running);
  InfeedQueue infeed(samples.feed(test.batch).source, 2);
  const ExecutionTotals totals =
      trainee.run(plans_of(test.samples(), test.batch, 1000), infeed, running);
  EXPECT_EQ(totals.updates, 1);
  return {totals.all, std::move(results)};
}

void expect_same_inference(const PipelineCase& pipelined) {
  PipelineCase plain = pipelined;
  plain.splits = {};
  const Inference evaluated = inference(plain, {}, RunMode::evaluate);
  const Inference predicted = inference(plain, {}, RunMode::predict);
  const std::vector<int> one_device(pipelined.splits.size() + 1, 0);
  for (const PipelineSchedule schedule : kSchedules) {
    for (const std::vector<int>& mapping : {std::vector<int>(), one_device}) {
      const Way way{.schedule = schedule, .mapping = mapping, .workers = 2};
      const Inference evaluation = inference(pipelined, way, RunMode::evaluate);
      EXPECT_EQ(evaluation.totals.samples, pipelined.samples());
      EXPECT_NEAR(evaluation.totals.loss, evaluated.totals.loss, 1e-5 * evaluated.totals.loss)
          << pipelined.network.name << ": " << to_string(way);
      const Inference prediction = inference(pipelined, way, RunMode::predict);
      EXPECT_LT(difference(prediction.results, predicted.results).absolute, 1e-6)
          << pipelined.network.name << ": " << to_string(way);
    }
  }
}

TEST(Pipeline, EvaluationAndPredictionAreAsWithoutStages) {
  for (const int slices : {1, 2}) {
    expect_same_inference(
        {.network = mnist(), .splits = {"conv2d_1", "dropout"}, .slices = slices, .replicas = 2});
    expect_same_inference({.network = toy_bn(), .splits = {"bn_0"}, .slices = slices});
  }
  expect_same_inference(
      {.network = small_resnet(),
       .splits = {"conv2_block1_layer1_bn", "conv2_block1_layer2_conv", "conv2_block1_add"}});
  expect_same_inference(
      {.network = mnist(), .splits = {"conv2d_1", "dense"}, .batch = 1, .slices = 2});
}

}  // namespace
}  // namespace pando::runtime

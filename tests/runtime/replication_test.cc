// Replicas and accumulation: which replica gets which samples, and how gradients are combined.
#include <cmath>

#include <gtest/gtest.h>

#include "pando/ir/text.h"
#include "pando/nn/layers.h"
#include "tests/runtime/trainee.h"

namespace pando::runtime {
namespace {

// y = k x with the squared error: the gradient of a sample is 2 (k x - y) x.
TestNetwork line() {
  const SymbolicTensor input = Input({1});
  return {"line", Network(input, Dense({.units = 1, .use_bias = false, .name = "line"})(input)),
          Loss("mse")};
}

// Samples 0, 1, 2, .. with labels that a slope of 1 misses by more and more.
Samples line_samples(int64_t count) {
  Samples samples(training_fields(line()), count, 1);
  for (int64_t i = 0; i < count; ++i) {
    samples.field(0).f32()[static_cast<size_t>(i)] = static_cast<float>(i + 1);
    samples.field(1).f32()[static_cast<size_t>(i)] = static_cast<float>(i % 3);
  }
  return samples;
}

double gradient_of(int64_t sample) {
  const auto x = static_cast<double>(sample + 1);
  return 2 * (x - static_cast<double>(sample % 3)) * x;
}

double mean_gradient(int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t i = begin; i < end; ++i) sum += gradient_of(i);
  return sum / static_cast<double>(end - begin);
}

struct ReductionCase {
  GradientReduction reduction;
  int64_t samples;
  double wanted;
};

// The gradient of one update in micro-batches of two samples.
void expect_gradients(int slices, int replicas, int micro_batches,
                      const std::vector<ReductionCase>& cases) {
  for (const ReductionCase& test : cases) {
    Placement placement{.replicas = replicas, .micro_batches = micro_batches};
    placement.reduction = test.reduction;
    Trainee trainee(line(), {.slices = slices, .batch = 2, .placement = placement},
                    SGD({.learning_rate = 1}));
    trainee.variables.get("line/kernel").value.f32()[0] = 1;
    Samples samples = line_samples(test.samples);
    EXPECT_EQ(trainee.run(samples.feed(2)).updates, 1);
    const double found =
        1 - static_cast<double>(trainee.variables.get("line/kernel").value.f32()[0]);
    EXPECT_NEAR(found, test.wanted, 1e-5 * std::fabs(test.wanted))
        << "reduction " << static_cast<int>(test.reduction) << ", " << test.samples << " samples, "
        << replicas << " replicas, " << micro_batches << " micro-batches, " << slices << " slices";
  }
}

TEST(Reduction, TwoReplicasOfTwoMicroBatches) {
  for (const int slices : {1, 2}) {
    expect_gradients(
        slices, 2, 2,
        {{GradientReduction::mean, 8, mean_gradient(0, 8)},
         {GradientReduction::running_mean, 8, mean_gradient(0, 8)},
         {GradientReduction::sum, 8,
          mean_gradient(0, 2) + mean_gradient(2, 4) + mean_gradient(4, 6) + mean_gradient(6, 8)},
         // The last micro-batch has one sample.
         {GradientReduction::mean, 7, mean_gradient(0, 7)},
         {GradientReduction::running_mean, 7, mean_gradient(0, 7)},
         {GradientReduction::sum, 7,
          mean_gradient(0, 2) + mean_gradient(2, 4) + mean_gradient(4, 6) + gradient_of(6)},
         // The second replica has no second micro-batch.
         {GradientReduction::mean, 5, mean_gradient(0, 5)},
         {GradientReduction::running_mean, 5, mean_gradient(0, 5)},
         {GradientReduction::sum, 5, mean_gradient(0, 2) + mean_gradient(2, 4) + gradient_of(4)},
         // The second replica has nothing at all.
         {GradientReduction::mean, 1, gradient_of(0)},
         {GradientReduction::running_mean, 1, gradient_of(0)},
         {GradientReduction::sum, 1, gradient_of(0)}});
  }
}

TEST(Reduction, OneReplicaOfFiveMicroBatches) {
  expect_gradients(1, 1, 5,
                   {{GradientReduction::mean, 9, mean_gradient(0, 9)},
                    {GradientReduction::running_mean, 9, mean_gradient(0, 9)},
                    {GradientReduction::sum, 9,
                     mean_gradient(0, 2) + mean_gradient(2, 4) + mean_gradient(4, 6) +
                         mean_gradient(6, 8) + gradient_of(8)}});
}

// An accumulator of running means never holds more than the largest mean.
TEST(Reduction, ARunningMeanDoesNotGrow) {
  Placement placement{.micro_batches = 4, .reduction = GradientReduction::running_mean};
  Trainee trainee(line(), {.batch = 1, .placement = placement}, SGD({.learning_rate = 1}));
  Samples samples = line_samples(4);
  trainee.variables.get("line/kernel").value.f32()[0] = 1;
  for (float& x : samples.field(0).f32()) x = 1e19f;  // the sum of four squares overflows
  for (float& y : samples.field(1).f32()) y = 0;
  trainee.run(samples.feed(1));
  const float found = trainee.variables.get("line/kernel").value.f32()[0];
  EXPECT_FLOAT_EQ(found, -2e38f);
}

TEST(Replication, ResultsComeBackInTheOrderOfTheElements) {
  const auto program = compiler::compile(
      ir::parse_graph("graph(x: f32[2,1] feed) { y = scale(x) {factor=2.0} return result y=y }"));
  VariableStore variables;
  WorkerTeam team({.device_workers = {1, 1, 1}});
  Executor executor(*program, variables, team, nullptr, {.replicas = 3, .micro_batches = 2});
  const std::vector<Field> fields = {{"x", DType::f32, {1}}};
  Samples samples(fields, 15, 1);  // eight elements; the last update has two, the last one short
  InfeedQueue infeed(samples.feed(2).source, 1);
  const std::vector<UpdatePlan> plans = plans_of(15, 2, 6);
  Tensor results(DType::f32, {16, 1});
  results.f32()[15] = -1;
  const ExecutionTotals totals =
      executor.run({.updates = plans, .results = {results.data()}}, infeed);
  EXPECT_EQ(totals.elements, 8);
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ(results.f32()[i], 2 * samples.field(0).f32()[i]) << i;
  EXPECT_EQ(results.f32()[15], -1);
}

TEST(Replication, ElementKTimesRPlusRGoesToReplicaR) {
  // Samples are powers of two, so that their sum shows which samples were used.
  Samples samples(training_fields(line()), 14, 1);
  for (size_t i = 0; i < 14; ++i) {
    samples.field(0).f32()[i] = std::sqrt(static_cast<float>(1 << i));
    samples.field(1).f32()[i] = 0;
  }
  Trainee trainee(
      line(),
      {.batch = 2, .mode = RunMode::evaluate, .placement = {.replicas = 3, .micro_batches = 2}});
  trainee.variables.get("line/kernel").value.f32()[0] = 1;
  const ExecutionTotals totals = trainee.run(samples.feed(2), {.keep_steps = true});
  EXPECT_EQ(totals.updates, 2);
  EXPECT_EQ(totals.elements, 7);
  std::vector<double> of_replica(3, 0);
  for (int64_t step = 0; step < 3; ++step) {
    for (int replica = 0; replica < 3; ++replica) {
      const int64_t element = 3 * step + replica;
      const Totals values = trainee.executor().step_values(step, replica);
      EXPECT_EQ(values.samples, element < 7 ? 2 : 0);
      const double wanted = element < 7 ? 3 * std::pow(4, static_cast<double>(element)) : 0;
      EXPECT_NEAR(values.loss, wanted, 1e-5 * wanted) << "step " << step << ", replica " << replica;
      of_replica[static_cast<size_t>(replica)] += values.loss;
    }
  }
  ASSERT_EQ(totals.replicas.size(), 3u);
  double sum = 0;
  for (size_t replica = 0; replica < 3; ++replica) {
    EXPECT_DOUBLE_EQ(totals.replicas[replica].loss, of_replica[replica]);
    sum += of_replica[replica];
  }
  EXPECT_EQ(totals.replicas[0].samples, 6);
  EXPECT_EQ(totals.replicas[1].samples, 4);
  EXPECT_DOUBLE_EQ(totals.all.loss, sum);
  EXPECT_EQ(trainee.executor().steps_done(), 0);  // between executions
}

TEST(Replication, StopsBetweenUpdates) {
  for (const int64_t stop_after : {0, 2}) {
    const TestNetwork network = test_network("mnist_cnn", {12, 12, 1});
    Samples samples(training_fields(network), 40, 10);
    const TraineeOptions options{
        .slices = 2, .batch = 2, .placement = {.replicas = 2, .micro_batches = 2}};
    Trainee stopped(network, options);
    InfeedQueue infeed(samples.feed(2).source, 3);
    int64_t asked = 0;
    const ExecutionTotals totals =
        stopped.run(stopped.plans(40), infeed, {.stop = [&] { return asked++ >= stop_after; }});
    EXPECT_EQ(totals.updates, stop_after);
    EXPECT_EQ(totals.elements, 4 * stop_after);
    EXPECT_EQ(totals.all.samples, 8 * stop_after);
    Trainee short_one(network, options);
    short_one.run(samples.feed(2), {.most_updates = stop_after});
    EXPECT_TRUE(stopped.state() == short_one.state());
    // Elements that were not consumed are still there.
    EXPECT_EQ(infeed.position(), 4 * stop_after);
    stopped.run(stopped.plans(40 - 8 * stop_after), infeed);
    Trainee whole(network, options);
    whole.run(samples.feed(2));
    EXPECT_TRUE(stopped.state() == whole.state());
  }
}

// Compares all variables of two trainees after updates by plain gradient descent.
void expect_close(const Trainee& found, const Trainee& expected, const std::string& what) {
  for (const Variable& variable : expected.variables.all()) {
    const Difference apart = difference(found.variables.get(variable.name).value, variable.value);
    EXPECT_LT(apart.absolute, 2e-6) << variable.name << " of " << what;
  }
}

TEST(Replication, AnyDivisionOfAGlobalBatchGivesTheSameUpdate) {
  const TestNetwork network = test_network("mnist_cnn", {12, 12, 1});
  Samples samples(training_fields(network), 24 + 24 + 13, 10);
  const Optimizer sgd = SGD({.learning_rate = 0.1});
  Trainee expected(network, {.batch = 24}, sgd);
  const ExecutionTotals wanted = expected.run(samples.feed(24));
  struct Way {
    int replicas, micro_batches, slices;
  };
  for (const Way way : {Way{1, 1, 2}, {1, 4, 1}, {2, 3, 2}, {4, 1, 1}, {3, 4, 1}, {1, 24, 1}}) {
    const int64_t batch = 24 / (way.replicas * way.micro_batches);
    for (const GradientReduction reduction :
         {GradientReduction::mean, GradientReduction::running_mean}) {
      Trainee trainee(network,
                      {.workers = 2,
                       .slices = way.slices,
                       .batch = batch,
                       .placement = {.replicas = way.replicas,
                                     .micro_batches = way.micro_batches,
                                     .reduction = reduction}},
                      sgd);
      const ExecutionTotals found = trainee.run(samples.feed(batch));
      EXPECT_EQ(found.updates, 3);
      EXPECT_EQ(found.all.samples, wanted.all.samples);
      EXPECT_NEAR(found.all.loss, wanted.all.loss, 1e-5 * wanted.all.loss);
      expect_close(trainee, expected, concat(way.replicas, " x ", way.micro_batches));
    }
  }
}

TEST(Replication, MovingStatisticsAreThoseOfTheWholeGlobalBatch) {
  const TestNetwork network = test_network("toy_model_bn", {32, 32, 3});
  Samples samples(training_fields(network), 12, 10);
  const Optimizer still = SGD({.learning_rate = 1e-30});
  // The first normalisation gets the same inputs however the batch is divided.
  const auto statistics = [&](int replicas, int micro_batches) {
    Trainee trainee(network,
                    {.batch = 12 / (replicas * micro_batches),
                     .placement = {.replicas = replicas, .micro_batches = micro_batches}},
                    still);
    trainee.run(samples.feed(trainee.batch));
    return std::pair(trainee.variables.get("bn_0/moving_mean").value,
                     trainee.variables.get("bn_0/moving_variance").value);
  };
  const auto [mean, variance] = statistics(1, 1);
  for (const auto& [replicas, micro_batches] : {std::pair(2, 1), {1, 3}, {2, 3}}) {
    const auto [other_mean, other_variance] = statistics(replicas, micro_batches);
    EXPECT_LT(difference(other_mean, mean).absolute, 1e-6);
    EXPECT_LT(difference(other_variance, variance).absolute, 1e-6);
  }
}

TEST(Replication, MoreDevicesThanCoresGiveTheSameBits) {
  const TestNetwork network = test_network("mnist_cnn", {12, 12, 1});
  Samples samples(training_fields(network), 8 * 2 * 2 + 5, 10);
  const auto state = [&](TraineeOptions options) {
    options.slices = 2;
    options.batch = 2;
    options.placement = {.replicas = 8, .micro_batches = 2};
    Trainee trainee(network, options);
    trainee.run(samples.feed(2));
    return trainee.state();
  };
  const std::string expected = state({});
  EXPECT_TRUE(state({.workers = 3, .shares_cores = true}) == expected);
  EXPECT_TRUE(state({.workers = 2, .cores = {0}, .shares_cores = true}) == expected);
  EXPECT_TRUE(state({.devices = 12, .shares_cores = true}) == expected);  // some have no work
}

}  // namespace
}  // namespace pando::runtime

#include "pando/runtime/executor.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/ir/text.h"
#include "tests/runtime/small_networks.h"
#include "tests/runtime/trainee.h"

namespace pando::runtime {
namespace {

Samples samples_for(const TestNetwork& network, int64_t count) {
  return {training_fields(network), count, network.network.outputs()[0].shape.back()};
}

// The weights and totals after some steps must be the same bits, no matter which workers run the
// slices.
void expect_same_for_all_workers(const TestNetwork& network, int64_t batch, int slices) {
  Samples samples = samples_for(network, 2 * batch + 1);  // the last micro-batch is short
  std::string expected;
  ExecutionTotals expected_totals;
  for (const int workers : {1, 2, 3}) {
    Trainee trainee(network, {.workers = workers, .slices = slices, .batch = batch});
    const ExecutionTotals totals = trainee.run(samples.feed(batch));
    EXPECT_EQ(totals.updates, 3);
    EXPECT_EQ(totals.all.samples, samples.count());
    if (workers == 1) {
      expected = trainee.state();
      expected_totals = totals;
    }
    EXPECT_TRUE(trainee.state() == expected) << network.name << ", " << workers << " workers";
    EXPECT_EQ(totals.all.loss, expected_totals.all.loss);
    EXPECT_TRUE(totals.finite);
  }
}

TEST(Executor, BatchSlicesGiveTheSameBitsForAnyNumberOfWorkers) {
  expect_same_for_all_workers(mnist(), 7, 3);
  expect_same_for_all_workers(toy_bn(), 7, 3);
  expect_same_for_all_workers(resnet(), 4, 4);
}

TEST(Executor, PartsGiveTheSameBitsForAnyNumberOfWorkers) {
  expect_same_for_all_workers(mnist(), 2, 3);
  expect_same_for_all_workers(toy_bn(), 2, 3);
  expect_same_for_all_workers(resnet(), 1, 3);
}

// Compares all variables of two trainees after one step of plain gradient descent.
void expect_same_step(const Trainee& found, const Trainee& expected) {
  for (const Variable& variable : expected.variables.all()) {
    const Difference apart = difference(found.variables.get(variable.name).value, variable.value);
    EXPECT_LT(apart.absolute, 1e-4) << variable.name;
  }
}

void expect_padding_without_effect(const TestNetwork& network, int64_t valid) {
  Samples samples = samples_for(network, valid);
  const Optimizer sgd = SGD({.learning_rate = 0.5});
  Trainee exact(network, {.batch = valid}, sgd);
  const ExecutionTotals wanted = exact.run(samples.feed(valid));
  Trainee padded(network, {.workers = 2, .slices = 2, .batch = 8}, sgd);
  const ExecutionTotals found = padded.run(samples.feed(8));
  EXPECT_EQ(found.all.samples, valid);
  EXPECT_NEAR(found.all.loss, wanted.all.loss, 1e-4 * std::fabs(wanted.all.loss));
  expect_same_step(padded, exact);
}

TEST(Executor, PaddingHasNoEffect) {
  for (const TestNetwork& network : {mnist(), toy_bn(), resnet()}) {
    expect_padding_without_effect(network, 5);  // the second slice has one sample of four
    expect_padding_without_effect(network, 3);  // the second slice has none
  }
}

TEST(Executor, SamplesOfAnEarlierStepHaveNoEffectOnPadding) {
  for (const TestNetwork& network : {mnist(), toy_bn()}) {
    Samples samples = samples_for(network, 8 + 5);
    const Optimizer still = SGD({.learning_rate = 1e-30});
    Trainee fresh(network, {.slices = 2, .batch = 8}, still);
    Trainee used(network, {.slices = 2, .batch = 8}, still);
    const double first = used.run(samples.feed(8, 0, 8)).all.loss;
    EXPECT_TRUE(std::isfinite(first));
    EXPECT_EQ(used.run(samples.feed(8, 8, 13)).all.loss,
              fresh.run(samples.feed(8, 8, 13)).all.loss);
  }
}

TEST(Executor, OneExecutionIsAsGoodAsMany) {
  const TestNetwork network = toy_bn();
  Samples samples = samples_for(network, 12);
  Trainee one(network, {.workers = 2, .slices = 2});
  Trainee many(network, {.workers = 2, .slices = 2});
  const ExecutionTotals totals = one.run(samples.feed(4));
  double loss = 0;
  for (int64_t at = 0; at < 12; at += 4) loss += many.run(samples.feed(4, at, at + 4)).all.loss;
  EXPECT_TRUE(one.state() == many.state());
  EXPECT_NEAR(totals.all.loss, loss, 1e-9 * loss);
}

TEST(Executor, ALossThatIsNoNumberStopsBeforeTheUpdate) {
  for (const int workers : {1, 2}) {
    const TestNetwork network = mnist();
    Samples samples = samples_for(network, 16);
    Trainee until_then(network, {.workers = workers, .slices = 2});
    until_then.run(samples.feed(4), {.most_updates = 2});
    // The third micro-batch, in its second slice.
    samples.field(0).f32()[11 * 144] = std::numeric_limits<float>::quiet_NaN();
    Trainee trainee(network, {.workers = workers, .slices = 2});
    const ExecutionTotals totals = trainee.run(samples.feed(4));
    EXPECT_FALSE(totals.finite);
    EXPECT_EQ(totals.updates, 2);  // whole ones
    EXPECT_EQ(totals.elements, 2);
    EXPECT_EQ(totals.all.samples, 12);
    EXPECT_FALSE(std::isfinite(totals.all.loss));
    EXPECT_TRUE(trainee.state() == until_then.state());
  }
}

TEST(Executor, EvaluationGoesOnAfterALossThatIsNoNumber) {
  const TestNetwork network = mnist();
  Samples samples = samples_for(network, 12);
  samples.field(0).f32()[0] = std::numeric_limits<float>::quiet_NaN();
  Trainee trainee(network, {.mode = RunMode::evaluate});
  const ExecutionTotals totals = trainee.run(samples.feed(4));
  EXPECT_EQ(totals.updates, 3);
  EXPECT_FALSE(totals.finite);
  // The next execution starts afresh.
  EXPECT_TRUE(trainee.run(samples.feed(4, 4, 12)).finite);
}

TEST(Executor, AnExceptionOfTheInfeedReachesTheCaller) {
  const TestNetwork network = mnist();
  Samples samples = samples_for(network, 8);
  Trainee trainee(network, {.workers = 2, .slices = 2});
  const Feed good = samples.feed(4);
  int calls = 0;
  const Feed bad{[&](Batch& batch) {
                   if (++calls == 2) throw IoError("the disk is gone");
                   return good.source(batch);
                 },
                 8};
  EXPECT_THROW(trainee.run(bad), IoError);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(trainee.run(samples.feed(4)).updates, 2);  // and can go on
}

TEST(Executor, EndsWithItsPlan) {
  const TestNetwork network = mnist();
  Samples samples = samples_for(network, 10);
  Trainee trainee(network, {.mode = RunMode::evaluate});
  EXPECT_EQ(trainee.run(samples.feed(4), {.most_updates = 2}).all.samples, 8);
  const ExecutionTotals all = trainee.run(samples.feed(4));
  EXPECT_EQ(all.updates, 3);
  EXPECT_EQ(all.elements, 3);
  EXPECT_EQ(all.all.samples, 10);
  const ExecutionTotals none = trainee.run(samples.feed(4, 10, 10));
  EXPECT_EQ(none.updates, 0);
  EXPECT_EQ(none.all.loss, 0);
}

TEST(Executor, DataThatEndBeforeThePlanAreAnError) {
  const TestNetwork network = mnist();
  Samples samples = samples_for(network, 8);
  Trainee trainee(network, {.mode = RunMode::evaluate});
  EXPECT_THROW(trainee.run({samples.feed(4).source, 12}), InvalidArgument);
}

TEST(Executor, AnElementOfAnotherSizeThanPlannedIsAnError) {
  const TestNetwork network = mnist();
  Samples samples = samples_for(network, 7);
  Trainee trainee(network, {.mode = RunMode::evaluate});
  EXPECT_THROW(trainee.run({samples.feed(4).source, 8}), InternalError);
}

TEST(Executor, MoreStepsThanThePlacementHasMicroBatchesAreAnError) {
  const TestNetwork network = mnist();
  Samples samples = samples_for(network, 8);
  Trainee trainee(network, {});
  InfeedQueue infeed(samples.feed(4).source, 1);
  EXPECT_THROW(trainee.run({{.elements = 2, .samples = 8}}, infeed), InternalError);
}

TEST(Executor, TotalsAreSumsOverTheSamples) {
  const TestNetwork network = mnist();
  Samples samples = samples_for(network, 7);
  Trainee trainee(network, {.workers = 2, .slices = 2, .mode = RunMode::evaluate});
  double sum = 0;
  for (int64_t i = 0; i < 7; ++i) sum += trainee.run(samples.feed(4, i, i + 1)).all.loss;
  EXPECT_NEAR(trainee.run(samples.feed(4)).all.loss, sum, 1e-5 * sum);
}

TEST(Executor, ResultsAreRowsInTheOrderOfTheSamples) {
  const TestNetwork network = mnist();
  const std::vector<Field> fields = {training_fields(network)[0]};
  Samples samples(fields, 11, 10);
  // One row per sample and one more, which must stay as it is.
  const auto predict = [&](const TraineeOptions& options) {
    Tensor results(DType::f32, {12, 10});
    for (float& x : results.f32()) x = -1;
    Trainee trainee(network, options);
    EXPECT_EQ(trainee.run(samples.feed(options.batch), {.results = results.data()}).all.samples,
              11);
    EXPECT_EQ(results.f32()[110], -1);
    return results.rows(0, 11);
  };
  const RunMode mode = RunMode::predict;
  const Tensor expected = predict({.batch = 11, .mode = mode});
  for (int i = 0; i < 11; ++i) {
    float sum = 0;
    for (int k = 0; k < 10; ++k) sum += expected.f32()[static_cast<size_t>(10 * i + k)];
    EXPECT_NEAR(sum, 1, 1e-5) << "row " << i << " is not a distribution";
  }
  const auto expect_rows = [&](const TraineeOptions& options) {
    EXPECT_LT(difference(predict(options), expected).absolute, 1e-6);
  };
  expect_rows({.workers = 2, .slices = 3, .batch = 5, .mode = mode});
  expect_rows({.workers = 1, .slices = 2, .batch = 4, .mode = mode});
  expect_rows({.workers = 2, .slices = 3, .batch = 2, .mode = mode});
}

TEST(Executor, EveryResultHasItsRows) {
  const auto program = compiler::compile(ir::parse_graph(R"(graph(x: f32[2,3] feed) {
    y = relu(x)
    z = slice(x) {begin=[0,0], size=[2,1]}
    return result y=y, result z=z })"),
                                         {.slices = 2});
  VariableStore variables;
  WorkerTeam team({});
  Executor executor(*program, variables, team);
  const std::vector<Field> fields = {{"x", DType::f32, {3}}};
  Samples samples(fields, 4, 1);
  Tensor results(DType::f32, {4, 3}), firsts(DType::f32, {4, 1});
  InfeedQueue infeed(samples.feed(4).source, 1);
  const std::vector<UpdatePlan> plans = plans_of(4, 4, 1);
  executor.run({.updates = plans, .results = {results.data(), firsts.data()}}, infeed);
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(results.f32()[i], std::max(samples.field(0).f32()[i], 0.0f)) << i;
    if (i % 3 == 0) {
      EXPECT_EQ(firsts.f32()[i / 3], samples.field(0).f32()[i]) << i;
    }
  }
}

TEST(Executor, SeesVariablesThatTheHostChanged) {
  const TestNetwork network = mnist();
  Samples samples = samples_for(network, 4);
  Trainee trainee(network, {.mode = RunMode::evaluate});
  EXPECT_FALSE(trainee.program().prologue().empty());  // packed copies must follow
  const double before = trainee.run(samples.feed(4)).all.loss;
  for (Variable& variable : trainee.variables.all()) {
    for (float& x : variable.value.f32()) x *= 2;
  }
  const double after = trainee.run(samples.feed(4)).all.loss;
  EXPECT_GT(std::fabs(after - before), 1e-3);
  for (Variable& variable : trainee.variables.all()) {
    for (float& x : variable.value.f32()) x /= 2;
  }
  EXPECT_EQ(trainee.run(samples.feed(4)).all.loss, before);
}

}  // namespace
}  // namespace pando::runtime

// Half precision: runs that give the same bits in f32 do so in 16 bits, with stochastic rounding
// too, and runs that are close in f32 stay as close as rounding allows.
#include <cmath>
#include <tuple>

#include "tests/runtime/pipeline_equality.h"
#include "tests/support/thread_instances.h"

namespace pando::runtime {
namespace {

using compiler::Recomputation;

TestNetwork mnist() { return test_network("mnist_cnn", {10, 10, 1}); }
TestNetwork toy_bn() { return test_network("toy_model_bn", {32, 32, 3}); }
TestNetwork resnet() { return test_network("cifar_resnet8", {8, 8, 3}); }

class Half : public testing::TestWithParam<std::tuple<const char*, StochasticRounding>> {
 protected:
  Precision precision() const { return parse_precision(std::get<0>(GetParam())); }
  HalfOptions half() const { return {.stochastic_rounding = std::get<1>(GetParam())}; }
  bool stochastic() const { return std::get<1>(GetParam()) != StochasticRounding::off; }

  PipelineCase pipeline(const TestNetwork& network, const std::vector<std::string>& splits) const {
    return {.network = network,
            .splits = splits,
            .slices = 2,
            .micro_batches = 3,
            .precision = precision(),
            .half = half()};
  }
  TraineeOptions options(const Placement& placement = {}, int slices = 1) const {
    TraineeOptions options{
        .workers = 2, .slices = slices, .batch = 2, .placement = placement, .shares_cores = true};
    options.compiling.precision = precision();
    options.compiling.half = half();
    return options;
  }
  // The tolerance for numbers of the order of 1, after a few roundings.
  double close() const { return precision().compute == DType::f16 ? 4e-3 : 3e-2; }
};

const std::vector<Way> kWays = {
    {.schedule = PipelineSchedule::interleaved, .workers = 2},
    {.schedule = PipelineSchedule::grouped, .recomputation = Recomputation::then_backward},
    {.schedule = PipelineSchedule::interleaved, .recomputation = Recomputation::interleaved},
    {.schedule = PipelineSchedule::sequential,
     .recomputation = Recomputation::then_backward,
     .mapping = {1, 0},
     .workers = 2},
};

TEST_P(Half, SchedulesAndRecomputationGiveTheSameBits) {
  PipelineCase replicas = pipeline(mnist(), {"max_pooling2d"});
  replicas.replicas = 2;
  expect_same_bits(replicas, kWays);
  PipelineCase parts = pipeline(mnist(), {"conv2d_1"});
  parts.batch = 1;
  expect_same_bits(parts, kWays);
}

TEST_P(Half, SoDoBatchStatisticsAndShortcuts) {
  expect_same_bits(pipeline(toy_bn(), {"conv2d_1"}), kWays);
  expect_same_bits(pipeline(resnet(), {"conv2_block1_layer2_conv"}), kWays);
}

std::string state_after(const TestNetwork& network, const TraineeOptions& options, int64_t samples,
                        const std::vector<int64_t>& runs = {1000}) {
  Trainee trainee(network, options);
  Samples data(training_fields(network), samples, 10);
  InfeedQueue infeed(data.feed(options.batch).source, 2);
  std::vector<UpdatePlan> plans = trainee.plans(samples);
  for (const int64_t updates : runs) {
    const auto count = std::min(plans.size(), static_cast<size_t>(updates));
    trainee.run({plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(count)}, infeed);
    plans.erase(plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(count));
  }
  EXPECT_TRUE(plans.empty());
  return trainee.state();
}

TEST_P(Half, WorkersAndTheLengthOfAnExecutionDoNotMatter) {
  const Placement placement{
      .replicas = 2, .micro_batches = 3, .reduction = GradientReduction::running_mean};
  for (const TestNetwork& network : {mnist(), resnet()}) {
    for (const int64_t batch : {4, 1}) {  // slices and parts
      TraineeOptions one = options(placement, 3);
      one.batch = batch;
      one.workers = 1;
      const int64_t samples = 14 * batch + 1;
      const std::string expected = state_after(network, one, samples);
      EXPECT_TRUE(state_after(network, one, samples) == expected);
      EXPECT_TRUE(state_after(network, one, samples, {1, 2}) == expected);
      for (const int workers : {2, 3}) {
        TraineeOptions more = one;
        more.workers = workers;
        EXPECT_TRUE(state_after(network, more, samples) == expected) << workers;
      }
    }
  }
}

// Each mode of stochastic rounding gives different bits.
TEST_P(Half, StochasticRoundingChangesTheBits) {
  const std::string expected = state_after(mnist(), options({.micro_batches = 2}), 9);
  for (const StochasticRounding other : {StochasticRounding::off, StochasticRounding::on,
                                         StochasticRounding::replica_identical_only}) {
    TraineeOptions changed = options({.micro_batches = 2});
    changed.compiling.half.stochastic_rounding = other;
    EXPECT_EQ(state_after(mnist(), changed, 9) == expected, other == half().stochastic_rounding);
  }
}

// Weights as f32.
std::vector<float> numbers(Tensor& tensor) {
  std::vector<float> space(static_cast<size_t>(tensor.elements()));
  const Stored stored{tensor.dtype(), tensor.data()};
  const float* opened = stored.open({0, tensor.elements()}, space.data());
  return {opened, opened + tensor.elements()};
}

struct Apart {
  double largest = 0;  // which a maximum that moves to another pixel decides
  double typical = 0;  // root of the mean square
};
Apart apart(Trainee& a, Trainee& b) {
  Apart result;
  double count = 0;
  for (Variable& variable : a.variables.all()) {
    const std::vector<float> left = numbers(variable.value);
    const std::vector<float> right = numbers(b.variables.get(variable.name).value);
    for (size_t i = 0; i < left.size(); ++i) {
      const double difference = std::fabs(static_cast<double>(left[i]) - right[i]);
      result.largest = std::max(result.largest, difference);
      result.typical += difference * difference;
      ++count;
    }
  }
  result.typical = std::sqrt(result.typical / count);
  return result;
}

TEST_P(Half, AnyDivisionOfAGlobalBatchGivesNearlyTheSameUpdateAsF32) {
  const TestNetwork network = mnist();
  Samples samples(training_fields(network), 12 + 12 + 7, 10);
  const Optimizer sgd = SGD({.learning_rate = 0.1});
  Trainee expected(network, {.batch = 12}, sgd);
  const ExecutionTotals wanted = expected.run(samples.feed(12));
  struct Division {
    int replicas, micro_batches, slices;
  };
  for (const Division way : {Division{1, 1, 1}, {1, 1, 2}, {1, 4, 1}, {2, 3, 2}, {3, 4, 1}}) {
    for (const GradientReduction reduction :
         {GradientReduction::mean, GradientReduction::running_mean}) {
      TraineeOptions how = options(
          {.replicas = way.replicas, .micro_batches = way.micro_batches, .reduction = reduction},
          way.slices);
      how.batch = 12 / (way.replicas * way.micro_batches);
      Trainee trainee(network, how, sgd);
      const ExecutionTotals found = trainee.run(samples.feed(how.batch));
      EXPECT_EQ(found.updates, 3);
      EXPECT_NEAR(found.all.loss, wanted.all.loss, close() * wanted.all.loss);
      const Apart from_f32 = apart(trainee, expected);
      EXPECT_LT(from_f32.largest, 3 * close()) << way.replicas << " x " << way.micro_batches;
      EXPECT_LT(from_f32.typical, close() / 10) << way.replicas << " x " << way.micro_batches;
    }
  }
}

// The elements of one instance, each with one replica.
BatchSource elements_of(Feed feed, int instance, int instances) {
  return [source = std::move(feed.source), instance, instances, at = 0](Batch& batch) mutable {
    for (; source(batch); ++at) {
      if (at % instances == instance) return ++at, true;
    }
    return false;
  };
}

// Instances exchange the f32 sum of all gradients of an instance.
TEST_P(Half, InstancesAreAsReplicas) {
  const TestNetwork network = mnist();
  Samples samples(training_fields(network), 14, 10);
  for (const GradientReduction reduction :
       {GradientReduction::mean, GradientReduction::running_mean}) {
    for (const char* optimizer : {"adam", "lars"}) {
      const auto state = [&](const Placement& placement, const BatchSource& source) {
        Trainee trainee(network, options(placement), make_optimizer(optimizer));
        InfeedQueue infeed(source, 2);
        trainee.run(plans_of(14, 2, 4), infeed);
        return trainee.state();
      };
      Placement placement{.replicas = 2, .micro_batches = 2, .reduction = reduction};
      const std::string expected = state(placement, samples.feed(2).source);
      placement.replicas = 1;
      testing_support::on_instances(2, [&](comm::Communicator& communicator) {
        Placement own = placement;
        own.communicator = {std::shared_ptr<comm::Communicator>(), &communicator};
        Samples same(training_fields(network), 14, 10);
        EXPECT_TRUE(state(own, elements_of(same.feed(2), communicator.rank(), 2)) == expected)
            << optimizer;
      });
    }
  }
}

TEST_P(Half, EvaluationAndPredictionAreNearlyThoseOfF32) {
  for (const TestNetwork& network : {mnist(), resnet()}) {
    for (const RunMode mode : {RunMode::evaluate, RunMode::predict}) {
      std::vector<Field> fields = training_fields(network);
      if (mode == RunMode::predict) fields.resize(1);
      Samples samples(fields, 7, 10);
      const auto run = [&](TraineeOptions how, Tensor& results) {
        how.mode = mode;
        Trainee trainee(network, how);
        return trainee
            .run(samples.feed(2), {.results = mode == RunMode::predict ? results.data() : nullptr})
            .all.loss;
      };
      Tensor wanted(DType::f32, {8, 10}), found(DType::f32, {8, 10});
      TraineeOptions full = options();
      full.compiling.precision = {};
      const double expected = run(full, wanted);
      EXPECT_NEAR(run(options({.replicas = 2}, 2), found), expected, close() * expected);
      if (mode == RunMode::evaluate) continue;
      EXPECT_LT(difference(found, wanted).absolute, 4 * close());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Precisions, Half,
    testing::Values(std::tuple("16.16", StochasticRounding::off),
                    std::tuple("16.16", StochasticRounding::on),
                    std::tuple("16.32", StochasticRounding::on),
                    std::tuple("bf16.16", StochasticRounding::replica_identical_only)),
    [](const auto& test) {
      std::string name = std::get<0>(test.param);
      name[name.find('.')] = '_';
      return name + (std::get<1>(test.param) == StochasticRounding::off ? "Nearest" : "Stochastic");
    });

}  // namespace
}  // namespace pando::runtime

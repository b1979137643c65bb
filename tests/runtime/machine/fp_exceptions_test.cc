// Floating-point exceptions: good data raises none, and the first one stops an execution by name.
#include "pando/runtime/machine/fp_exceptions.h"

#include <limits>

#include <gtest/gtest.h>

#include "pando/nn/layers.h"
#include "tests/runtime/trainee.h"
#include "tests/support/expect_error.h"
#include "tests/support/thread_instances.h"

namespace pando::runtime {
namespace {

using testing_support::error_of;

constexpr unsigned kAllKinds = kFpInvalid | kFpDivisionByZero | kFpOverflow;

// Operations that the compiler must neither compute itself nor leave out.
void divide(float a, float b) {
  volatile float divisor = b;
  [[maybe_unused]] volatile float quotient = a / divisor;
}
void multiply(float a, float b) {
  volatile float factor = b;
  [[maybe_unused]] volatile float product = a * factor;
}

TEST(FpExceptions, AreNotedUntilTheyAreCleared) {
  clear_fp_exceptions();
  EXPECT_EQ(raised_fp_exceptions(), 0u);
  divide(1, 3);  // inexact, which does not count
  EXPECT_EQ(raised_fp_exceptions(), 0u);
  divide(1, 0);
  EXPECT_EQ(raised_fp_exceptions(), kFpDivisionByZero);
  multiply(1e30f, 1e30f);
  EXPECT_EQ(raised_fp_exceptions(), kFpDivisionByZero | kFpOverflow);
  divide(0, 0);
  EXPECT_EQ(raised_fp_exceptions(), kAllKinds);
  clear_fp_exceptions();
  EXPECT_EQ(raised_fp_exceptions(), 0u);
}

TEST(FpExceptions, HaveNames) {
  EXPECT_EQ(fp_exception_names(kFpOverflow), "overflow");
  EXPECT_EQ(fp_exception_names(kFpInvalid | kFpDivisionByZero),
            "invalid operation and division by zero");
  EXPECT_EQ(to_string(ExecutionPlace{.update = 3, .micro_batch = 0, .replica = 1}),
            "weight update 4, micro-batch 1, replica 1");
  EXPECT_EQ(to_string(ExecutionPlace{.update = 3, .instance = 0}), "weight update 4, instance 0");
}

TEST(FpExceptions, AreClearedByTheErrorThatTellsThem) {
  clear_fp_exceptions();
  multiply(1e30f, 1e30f);
  EXPECT_SAYS(error_of<FloatingPointError>([] { throw_fp_exception("it", {.update = 2}); }),
              "it: floating-point exception (overflow) in weight update 3; ", "fp_exceptions",
              "smaller learning rate");
  EXPECT_EQ(raised_fp_exceptions(), 0u);
  EXPECT_SAYS(error_of<FloatingPointError>([] { throw_fp_exception("it", {.f16 = true}); }),
              "smaller learning rate", "smaller loss scaling");
}

TraineeOptions watched(int slices = 1, Placement placement = {}) {
  placement.stop_at_fp_exceptions = true;
  return {.workers = 2,
          .slices = slices,
          .batch = 2,
          .placement = std::move(placement),
          .shares_cores = true};
}

// Two whole weight updates and one that is mostly padding.
void expect_none(const TestNetwork& network, const TraineeOptions& options,
                 const Optimizer& optimizer = SGD({.learning_rate = 0.01, .momentum = 0.9})) {
  Trainee trainee(network, options, optimizer);
  const Placement& placement = options.placement;
  const int64_t update = options.batch * placement.replicas * placement.micro_batches;
  Samples samples(training_fields(network), 2 * update + 1,
                  network.network.outputs()[0].shape.back());
  EXPECT_EQ(trainee.run(samples.feed(options.batch)).updates, 3) << network.name;
}

void expect_none(const TestNetwork& network) {
  for (const char* precision : {"32.32", "16.16", "16.32", "bf16.16"}) {
    for (TraineeOptions options : {watched(), watched(2, {.micro_batches = 2}), watched(2)}) {
      options.compiling.precision = parse_precision(precision);
      options.compiling.half.stochastic_rounding = StochasticRounding::on;
      expect_none(network, options);
      options.batch = 1;  // parts
      expect_none(network, options);
    }
  }
}

TEST(FpExceptions, GoodDataRaisesNone) {
  expect_none(test_network("mnist_cnn", {12, 12, 1}));
  expect_none(test_network("cifar_resnet8", {16, 16, 3}));
  expect_none(test_network("toy_model_bn", {62, 62, 3}));
  const Network bottlenecks =
      resnet({32, 32, 3}, 10, {.blocks = {2, 1, 0, 0}, .bottleneck = true, .norm = {}});
  expect_none({"resnet", bottlenecks, Loss("sparse_categorical_crossentropy")});
  const ZooEntry& entry = zoo_entry("cifar_resnet8");
  const ZooOptions groups = {.norm = {.name = "group_norm", .params = {{"num_groups", 4}}}};
  expect_none({"group", entry.build({16, 16, 3}, 10, groups), Loss(entry.loss)});
  expect_none(test_network("cosmoflow", {32, 32, 32, 1}));
}

TEST(FpExceptions, NorDoOtherLayersAndLosses) {
  for (const char* activation : {"relu", "sigmoid", "tanh", "softmax", "leaky_relu"}) {
    for (const char* loss : {"mse", "mae"}) {
      const Network network = Sequential(
          {9, 9, 2},
          {Conv2D({.filters = 5, .kernel = {3, 3}, .strides = {2, 2}, .padding = "same"}),
           GroupNormalization({.groups = 5}), Activation(activation), Dropout({.rate = 0.4}),
           AveragePooling2D({.padding = "same"}), Flatten(), Dense({.units = 3})});
      expect_none({activation, network, Loss(loss)});
    }
  }
}

TEST(FpExceptions, NorDoOptimizers) {
  for (const std::string& name : optimizer_names()) {
    expect_none(test_network("mnist_cnn", {12, 12, 1}), watched(), make_optimizer(name));
  }
}

TEST(FpExceptions, NorDoPaddedEvaluations) {
  TraineeOptions options = watched(2, {.replicas = 2});
  options.mode = RunMode::evaluate;
  const TestNetwork network = test_network("cifar_resnet8", {16, 16, 3});
  Trainee trainee(network, options);
  Samples samples(training_fields(network), 5, 10);
  EXPECT_EQ(trainee.run(samples.feed(2)).all.samples, 5);
}

// Samples of which number `bad` is too large for the first layer.
Samples samples_with(const TestNetwork& network, int64_t bad, float value) {
  Samples samples(training_fields(network), 24, 10);
  Tensor& x = samples.field(0);
  const int64_t row = x.elements() / samples.count();
  std::fill_n(x.f32().data() + bad * row, row, value);
  return samples;
}

std::string stopped(const TestNetwork& network, const TraineeOptions& options, int64_t bad,
                    float value) {
  Trainee trainee(network, options);
  Tensor& kernel = trainee.variables.get("conv2d/kernel").value;
  Tensor ones(DType::f32, kernel.shape());
  std::fill_n(ones.f32().data(), ones.elements(), 1.0f);
  assign_numbers(ones, kernel);
  Samples samples = samples_with(network, bad, value);
  InfeedQueue infeed(samples.feed(2).source, 1);
  const Placement& placement = options.placement;
  const int64_t elements = int64_t{placement.total_replicas()} * placement.micro_batches;
  return error_of<FloatingPointError>(
      [&] { trainee.run(plans_of(24 * placement.instances(), 2, elements), infeed); });
}

TEST(FpExceptions, TheFirstOneStopsTheExecutionAndSaysWhere) {
  const TestNetwork network = test_network("mnist_cnn", {12, 12, 1});
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_SAYS(stopped(network, watched(), 5, 3e38f), "conv_pool", "'conv2d'", "overflow",
              "weight update 3", "micro-batch 1", "replica 0");
  EXPECT_SAYS(stopped(network, watched(), 0, infinity), "invalid operation", "weight update 1");
  // Updates of two replicas with three micro-batches of two samples.
  EXPECT_SAYS(stopped(network, watched(2, {.replicas = 2, .micro_batches = 3}), 18, 3e38f),
              "weight update 2, micro-batch 2, replica 1;");
  TraineeOptions evaluation = watched();
  evaluation.mode = RunMode::evaluate;
  EXPECT_SAYS(stopped(network, evaluation, 0, 3e38f), ") in micro-batch 1, replica 0;");
  TraineeOptions pipeline = watched(1, {.micro_batches = 3});
  pipeline.compiling.pipelined = true;
  TestNetwork stages = network;
  stages.network = stages.network.with_splits({"conv2d_1", "dense"});
  EXPECT_SAYS(stopped(stages, pipeline, 8, 3e38f), "weight update 2, micro-batch 2, replica 0;");
}

TEST(FpExceptions, OfAWeightUpdateNameTheVariable) {
  const TestNetwork network = test_network("mnist_cnn", {12, 12, 1});
  for (const char* optimizer : {"sgd", "lars"}) {
    Trainee trainee(network, watched(), make_optimizer(optimizer));
    Samples samples(training_fields(network), 4, 10);
    // Gradients are of the order of 1, so that a rate near the largest number is too much.
    InfeedQueue infeed(samples.feed(2).source, 1);
    const std::vector<UpdatePlan> plans = {{.elements = 1, .samples = 2},
                                           {.elements = 1, .samples = 2}};
    const std::string error = error_of<FloatingPointError>([&] {
      trainee.executor().run({.updates = plans, .learning_rate = 1e39, .iteration = 7}, infeed);
    });
    EXPECT_SAYS(error, "weight update of '");
    EXPECT_SAYS(error, "in weight update 8;");
  }
}

// The sum of gradients overflows, no single gradient does.
TEST(FpExceptions, OfAccumulationAreTold) {
  const SymbolicTensor input = Input({1});
  const TestNetwork line = {
      "line", Network(input, Dense({.units = 1, .use_bias = false, .name = "line"})(input)),
      Loss("mse")};
  Placement placement{.micro_batches = 4, .reduction = GradientReduction::sum};
  TraineeOptions options = watched(1, placement);
  options.batch = 1;
  Trainee trainee(line, options, SGD({.learning_rate = 1}));
  trainee.variables.get("line/kernel").value.f32()[0] = 1;
  Samples samples(training_fields(line), 4, 1);
  for (float& x : samples.field(0).f32()) x = 1.2e19f;
  for (float& y : samples.field(1).f32()) y = 0;
  EXPECT_SAYS(error_of<FloatingPointError>([&] { trainee.run(samples.feed(1)); }),
              "accumulated gradients of bucket 0: floating-point exception (overflow) in weight "
              "update 1, micro-batch 2, replica 0");
}

TEST(FpExceptions, OfOneInstanceNameIt) {
  const TestNetwork network = test_network("mnist_cnn", {12, 12, 1});
  testing_support::on_instances(2, [&](comm::Communicator& communicator) {
    Placement placement{.replicas = 2};
    placement.communicator = {std::shared_ptr<comm::Communicator>(), &communicator};
    TraineeOptions options = watched(1, placement);
    options.mode = RunMode::evaluate;
    EXPECT_SAYS(stopped(network, options, 0, 3e38f),
                concat("replica ", 2 * communicator.rank(), ", instance ", communicator.rank()));
  });
}

// A number that is too large for f16 counts, although it becomes the largest number.
TEST(FpExceptions, OfHalfPrecisionAreOverflows) {
  const TestNetwork network = test_network("mnist_cnn", {12, 12, 1});
  for (const bool nan : {false, true}) {
    TraineeOptions options = watched(1, {.replicas = 2});
    options.compiling.precision = {DType::f16, DType::f16};
    options.compiling.half.nan_on_overflow = nan;
    const std::string error = stopped(network, options, 6, 1e6f);
    EXPECT_SAYS(error, "overflow", "weight update 2", "micro-batch 1", "replica 1");
    EXPECT_SAYS(error, "smaller loss scaling");
  }
}

TEST(FpExceptions, OfBackwardNameTheLayer) {
  const SymbolicTensor input = Input({1});
  const TestNetwork line = {
      "line", Network(input, Dense({.units = 1, .use_bias = false, .name = "line"})(input)),
      Loss("mse")};
  Trainee trainee(line, watched(), SGD({.learning_rate = 1}));
  trainee.variables.get("line/kernel").value.f32()[0] = 1e-10f;
  Samples samples(training_fields(line), 2, 1);
  for (float& x : samples.field(0).f32()) x = 1e25f;  // the prediction 1e15, the gradient 1e40
  for (float& y : samples.field(1).f32()) y = 0;
  EXPECT_SAYS(error_of<FloatingPointError>([&] { trainee.run(samples.feed(2)); }),
              "dense_filter_grad, backward of layer 'line': floating-point exception (overflow)");
}

TEST(FpExceptions, NobodyLooksWithoutTheOption) {
  const TestNetwork network = test_network("mnist_cnn", {12, 12, 1});
  TraineeOptions options = watched();
  options.placement.stop_at_fp_exceptions = false;
  Trainee trainee(network, options);
  Samples samples(training_fields(network), 4, 10);
  samples.field(0).f32()[0] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(trainee.run(samples.feed(2)).finite);
}

}  // namespace
}  // namespace pando::runtime

// The factor of loss scaling is in the gradients and never in the weights.
// SPDX-License-Identifier: MIT
#include "pando/optim/loss_scaling.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/runtime/small_networks.h"
#include "tests/runtime/trainee.h"

namespace pando::runtime {
namespace {

struct Learned {
  std::string state;
  double loss = 0;
};

Learned learned(const TestNetwork& network, const TraineeOptions& options,
                const Optimizer& optimizer, LossScaler* scaling) {
  Trainee trainee(network, options, optimizer);
  const int64_t update =
      options.batch * options.placement.replicas * options.placement.micro_batches;
  Samples samples(training_fields(network), 3 * update - 1,
                  network.network.outputs()[0].shape.back());
  const ExecutionTotals totals = trainee.run(samples.feed(options.batch), {.scaling = scaling});
  EXPECT_EQ(totals.updates, 3);
  return {trainee.state(), totals.all.loss};
}

// All of backward is linear, so a power of two passes through f32 without a rounding.
void expect_no_trace(const TestNetwork& network, const TraineeOptions& options,
                     const Optimizer& optimizer) {
  const Learned plain = learned(network, options, optimizer, nullptr);
  for (const double factor : {1.0, 1024.0, 1.0 / 64}) {
    LossScaler scaling({.factor = factor});
    const Learned scaled = learned(network, options, optimizer, &scaling);
    EXPECT_TRUE(scaled.state == plain.state) << network.name << ", factor " << factor;
    EXPECT_EQ(scaled.loss, plain.loss);
  }
}

TEST(LossScaling, APowerOfTwoLeavesNoTraceInFullPrecision) {
  expect_no_trace(mnist(), {.workers = 2, .slices = 2},
                  SGD({.learning_rate = 0.1, .momentum = 0.9}));
  expect_no_trace(mnist(), {.slices = 2}, LARS({.learning_rate = 0.1}));
  expect_no_trace(mnist(), {.slices = 2}, Adam());
  expect_no_trace(mnist(), {.slices = 2}, RMSprop());
  expect_no_trace(mnist(), {.slices = 2}, Adadelta());
  expect_no_trace(mnist(), {},
                  regularized(SGD({.learning_rate = 0.1}), {.weight_decay = 0.1, .l2 = 0.1}));
  expect_no_trace(resnet(), {.slices = 2}, SGD({.learning_rate = 0.1}));
}

TEST(LossScaling, HoweverAGlobalBatchIsDivided) {
  const Optimizer sgd = SGD({.learning_rate = 0.1, .momentum = 0.9});
  for (const GradientReduction reduction :
       {GradientReduction::mean, GradientReduction::sum, GradientReduction::running_mean}) {
    expect_no_trace(mnist(),
                    {.workers = 2,
                     .placement = {.replicas = 2, .micro_batches = 3, .reduction = reduction},
                     .shares_cores = true},
                    sgd);
  }
  TestNetwork staged = mnist();
  staged.network = staged.network.with_splits({"conv2d_1", "dense"});
  TraineeOptions pipelined{.placement = {.micro_batches = 3}, .shares_cores = true};
  pipelined.compiling.pipelined = true;
  expect_no_trace(staged, pipelined, sgd);
}

TEST(LossScaling, TheFactorFollowsEveryUpdateOfAnExecution) {
  const TestNetwork network = mnist();
  const Optimizer sgd = SGD({.learning_rate = 0.1});
  const Learned plain = learned(network, {}, sgd, nullptr);
  LossScaler scaling({.automatic = true, .options = {.update_frequency = 1}});
  EXPECT_TRUE(learned(network, {}, sgd, &scaling).state == plain.state);
  EXPECT_EQ(scaling.factor(), 8);  // nothing to count in f32: it doubles every time
}

TEST(LossScaling, AnUpdateThatWasNotMadeIsNotCounted) {
  const TestNetwork network = mnist();
  Samples samples(training_fields(network), 12, 10);
  samples.field(0).f32()[9 * 144] = std::numeric_limits<float>::quiet_NaN();
  Trainee trainee(network, {});
  LossScaler scaling({.automatic = true, .options = {.update_frequency = 100}});
  EXPECT_EQ(trainee.run(samples.feed(4), {.scaling = &scaling}).updates, 2);
  EXPECT_EQ(scaling.state().updates, 2);
}

}  // namespace
}  // namespace pando::runtime

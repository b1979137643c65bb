// The bits of the weights depend on seed, data and slices, on nothing else.
#include "tests/train/train_support.h"

namespace pando {
namespace {

Model train(uint64_t seed, ExecutionOptions execution, int64_t batch = 8) {
  Model model = compiled(rich_cnn(), classifier(Adam({.learning_rate = 0.01}), execution), seed);
  model.fit(image_data(37), {.epochs = 2, .batch_size = batch, .verbose = 0});
  return model;
}

TEST(Determinism, TwoRunsAreIdentical) { EXPECT_TRUE(same_weights(train(3, {}), train(3, {}))); }

TEST(Determinism, SeedsDiffer) {
  EXPECT_FALSE(same_weights(Model(small_cnn(), {.seed = 0}), Model(small_cnn(), {.seed = 1})));
  EXPECT_FALSE(same_weights(train(3, {}), train(4, {})));
}

TEST(Determinism, SeedOfTrainingMatters) {
  // The same initial weights, but other masks and another order.
  Model a = compiled(rich_cnn(), classifier(), 1), b = compiled(rich_cnn(), classifier(), 2);
  b.set_weights(a.get_weights());
  a.fit(image_data(20), {.verbose = 0});
  b.fit(image_data(20), {.verbose = 0});
  EXPECT_FALSE(same_weights(a, b));
}

TEST(Determinism, ThreadsDoNotMatter) {
  for (const int slices : {1, 2, 4}) {
    const Model one = train(3, {.threads = 1, .slices = slices});
    for (const int threads : {2, 3}) {
      EXPECT_TRUE(same_weights(one, train(3, {.threads = threads, .slices = slices})))
          << threads << " threads, " << slices << " slices";
    }
  }
}

// Masks of channels and of samples, and noise, belong to samples.
TEST(Determinism, NoiseDependsOnSeedAndSampleOnly) {
  const auto train_noisy = [](int threads, int slices) {
    const Network network =
        Sequential({6, 6, 1}, {Conv2D({.filters = 4, .kernel = {3, 3}, .activation = "swish"}),
                               SpatialDropout2D({.rate = 0.3}), StochasticDepth({.rate = 0.3}),
                               GaussianNoise({.stddev = 0.2}), GlobalAveragePooling2D(),
                               Dense({.units = 3, .activation = "softmax"})});
    Model model = compiled(
        network, classifier(SGD({.learning_rate = 0.02}), {.threads = threads, .slices = slices}));
    model.fit(image_data(37), {.epochs = 2, .batch_size = 8, .verbose = 0});
    return model;
  };
  const Model one = train_noisy(1, 2);
  EXPECT_TRUE(same_weights(one, train_noisy(2, 2)));
  EXPECT_LT(largest_difference(one, train_noisy(2, 4)), 2e-5);
}

// Without Adam, which divides by the size of a gradient and so amplifies rounding.
Model train_plainly(int slices, int64_t batch) {
  Model model = compiled(rich_cnn(), classifier(SGD({.learning_rate = 0.02}), {.slices = slices}));
  model.fit(image_data(37), {.epochs = 2, .batch_size = batch, .verbose = 0});
  return model;
}

TEST(Determinism, SlicesMatterByRoundingOnly) {
  for (const int64_t batch : {2, 8}) {
    const Model one = train_plainly(1, batch);
    for (const int slices : {2, 3, 4}) {
      EXPECT_LT(largest_difference(one, train_plainly(slices, batch)), 2e-5)
          << slices << " slices of " << batch;
    }
  }
}

TEST(Determinism, BatchesSmallerThanTheSlices) {
  // Each call is cut into parts then.
  const Model one = train(3, {.threads = 1, .slices = 4}, 2);
  for (const int threads : {2, 3}) {
    EXPECT_TRUE(same_weights(one, train(3, {.threads = threads, .slices = 4}, 2))) << threads;
  }
}

TEST(Determinism, BatchesSmallerThanTheSlicesLearn) {
  Model model =
      compiled(small_cnn(), classifier(SGD({.learning_rate = 0.05}), {.threads = 2, .slices = 4}));
  const History history = model.fit(image_data(60), {.epochs = 4, .batch_size = 1, .verbose = 0});
  EXPECT_LT(history["loss"].back(), history["loss"].front() * 0.5);
}

TEST(Determinism, WeightsDoNotDependOnTheOrderOfLayers) {
  const Model one(
      Sequential({4}, {Dense({.units = 4, .name = "a"}), Dense({.units = 4, .name = "b"})}));
  const Model two(
      Sequential({4}, {Dense({.units = 4, .name = "b"}), Dense({.units = 4, .name = "a"})}));
  EXPECT_TRUE(same_bits(one.get_weight("a/kernel"), two.get_weight("a/kernel")));
  EXPECT_TRUE(same_bits(one.get_weight("b/kernel"), two.get_weight("b/kernel")));
  EXPECT_FALSE(same_bits(one.get_weight("a/kernel"), one.get_weight("b/kernel")));
}

TEST(Verification, EveryPassOffGivesTheSameTraining) {
  const auto run = [](ExecutionOptions execution) {
    Model model = compiled(rich_cnn(), classifier(SGD({.learning_rate = 0.05}), execution));
    model.fit(image_data(24), {.epochs = 2, .batch_size = 8, .verbose = 0});
    return model;
  };
  const Model wanted = run({});
  const std::vector<std::string> passes = {
      "fuse-post-ops",        "fuse-pool-grad", "fuse-conv-pool", "fuse-conv-pool-grad",
      "fuse-batch-norm-grad", "erase-dead",     "plan-memory"};
  for (const std::string& pass : passes) {
    EXPECT_LT(largest_difference(wanted, run({.disabled_passes = {pass}})), 1e-5) << pass;
  }
  EXPECT_LT(largest_difference(wanted, run({.disabled_passes = {passes.begin(), passes.end()}})),
            1e-5);
  EXPECT_LT(largest_difference(wanted, run({.reference_kernels = true})), 1e-5);
}

}  // namespace
}  // namespace pando

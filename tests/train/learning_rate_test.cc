// The effect of schedules and regularisation on a fit, compared with the formulas in double
// precision.
#include <cmath>

#include "tests/train/train_support.h"

namespace pando {
namespace {

constexpr int64_t kLineSamples = 12;
constexpr int64_t kBatch = 4;
constexpr int64_t kEpochs = 3;  // of three weight updates

// A linear model of two features and its fit by hand: the last weight is the bias.
class LineByHand {
 public:
  using Weights = std::array<double, 3>;
  // Changes weights and state, given the gradient and the number of the update.
  using Rule = std::function<void(Weights&, const Weights&, int64_t)>;

  LineByHand() : x_(random_tensor({kLineSamples, 2}, 1)), y_(random_tensor({kLineSamples, 1}, 2)) {}

  Weights expected(Weights weights, const Rule& rule) const {
    for (int64_t update = 0; update < kEpochs * kLineSamples / kBatch; ++update) {
      rule(weights, gradient(weights, update * kBatch % kLineSamples), update);
    }
    return weights;
  }

  void expect_fit(const Optimizer& optimizer, const Rule& rule) const {
    for (const int64_t steps : {1, 9}) {
      Model model = compiled(Sequential({2}, {Dense({.units = 1})}),
                             {.optimizer = optimizer, .loss = "mse", .steps_per_execution = steps});
      const Weights by_hand = expected(weights_of(model), rule);
      model.fit(x_, y_, {.epochs = kEpochs, .batch_size = kBatch, .shuffle = false, .verbose = 0});
      const Weights found = weights_of(model);
      for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], by_hand[i], 2e-6) << i;
    }
  }

 private:
  static Weights weights_of(const Model& model) {
    const Tensor kernel = model.get_weight("dense/kernel");
    const Tensor bias = model.get_weight("dense/bias");
    return {static_cast<double>(kernel.f32()[0]), static_cast<double>(kernel.f32()[1]),
            static_cast<double>(bias.f32()[0])};
  }

  Weights gradient(const Weights& weights, int64_t first) const {
    Weights sum{};
    for (int64_t i = first; i < first + kBatch; ++i) {
      const auto row = static_cast<size_t>(i);
      const Weights inputs = {static_cast<double>(x_.f32()[2 * row]),
                              static_cast<double>(x_.f32()[2 * row + 1]), 1};
      double off = -static_cast<double>(y_.f32()[row]);
      for (size_t k = 0; k < 3; ++k) off += weights[k] * inputs[k];
      for (size_t k = 0; k < 3; ++k) sum[k] += 2 * off * inputs[k] / static_cast<double>(kBatch);
    }
    return sum;
  }

  Tensor x_, y_;
};

// Warm-up over two updates, then half a cosine wave that ends within the fit, in stairs of two.
LearningRate rich_schedule(double initial) {
  const LearningRate cosine = CosineDecay({.initial_learning_rate = initial, .decay_updates = 6});
  return in_stairs(with_warmup(cosine, {.mode = WarmupMode::mask, .updates = 2}), 2);
}

TEST(LearningRateOfFit, EveryUpdateHasItsOwnRateWithinAnExecution) {
  const LearningRate rate = rich_schedule(0.3);
  LineByHand().expect_fit(
      SGD({.learning_rate = rate}),
      [&](LineByHand::Weights& w, const LineByHand::Weights& g, int64_t update) {
        for (size_t k = 0; k < 3; ++k) w[k] -= rate.at(update) * g[k];
      });
}

TEST(LearningRateOfFit, WeightDecayLeavesTheMomentumAndL2EntersIt) {
  constexpr double kDecay = 0.2, kL2 = 0.1, kMomentum = 0.9;
  const LearningRate rate = rich_schedule(0.1);
  const Optimizer sgd = SGD({.learning_rate = rate, .momentum = kMomentum});
  LineByHand::Weights v{};
  LineByHand().expect_fit(
      regularized(sgd, {.weight_decay = kDecay, .l2 = kL2}),
      [&](LineByHand::Weights& w, const LineByHand::Weights& g, int64_t update) {
        if (update == 0) v = {};
        const double lr = rate.at(update);
        for (size_t k = 0; k < 3; ++k) {
          const double with_penalty = g[k] + kL2 * w[k];
          w[k] -= lr * kDecay * w[k];
          v[k] = kMomentum * v[k] - lr * with_penalty;
          w[k] += v[k];
        }
      });
}

// The norms that LARS sees have L2 in them; the bias has neither trust nor LARS' own decay.
TEST(LearningRateOfFit, LarsWithL2) {
  const LearningRate rate = rich_schedule(0.1);
  const LarsOptions options{
      .learning_rate = rate, .momentum = 0.8, .weight_decay = 0.3, .eeta = 0.8, .epsilon = 0};
  constexpr double kL2 = 0.2;
  LineByHand::Weights m{};
  LineByHand().expect_fit(
      regularized(LARS(options), {.l2 = kL2}),
      [&](LineByHand::Weights& w, LineByHand::Weights g, int64_t update) {
        if (update == 0) m = {};
        for (size_t k = 0; k < 3; ++k) g[k] += kL2 * w[k];
        const double weights = std::hypot(w[0], w[1]), gradient = std::hypot(g[0], g[1]);
        const double trust =
            options.eeta * weights / (gradient + options.weight_decay * weights + 1e-7);
        for (size_t k = 0; k < 3; ++k) {
          const bool kernel = k < 2;
          const double step = kernel ? trust * (g[k] + options.weight_decay * w[k]) : g[k];
          m[k] = options.momentum * m[k] + rate.at(update) * step;
          w[k] -= m[k];
        }
      });
}

// The seed's two formulas, with a gradient of zero: both take a tenth.
TEST(LearningRateOfFit, DecayAndL2OfATenthWithoutAGradient) {
  for (const Regularization& tenth : {Regularization{.weight_decay = 0.1}, {.l2 = 0.1}}) {
    Model model =
        compiled(Sequential({1}, {Dense({.units = 1, .use_bias = false})}),
                 {.optimizer = regularized(SGD({.learning_rate = 1}), tenth), .loss = "mse"});
    model.set_weights({Tensor::of_f32({1, 1}, {1})});
    model.fit(Zeros().make({4, 1}, 0), Zeros().make({4, 1}, 0), {.verbose = 0});
    EXPECT_FLOAT_EQ(model.get_weights()[0].f32()[0], 0.9f);
  }
}

TEST(LearningRateOfFit, RegularizationLeavesMovingStatisticsAlone) {
  const auto trained = [](const Regularization& regularization) {
    // The statistics of the first layer's input do not depend on the weights.
    Model model = compiled(Sequential({6, 6, 1}, {BatchNormalization({.momentum = 0.9}), Flatten(),
                                                  Dense({.units = 3, .activation = "softmax"})}),
                           classifier(regularized(SGD(), regularization)));
    model.fit(image_data(24), {.batch_size = 8, .verbose = 0});
    return model;
  };
  const Model with = trained({.weight_decay = 0.5, .l2 = 0.5});
  const Model without = trained({});
  for (const char* name :
       {"batch_normalization/moving_mean", "batch_normalization/moving_variance"}) {
    EXPECT_TRUE(same_bits(with.get_weight(name), without.get_weight(name))) << name;
  }
  EXPECT_FALSE(same_bits(with.get_weight("batch_normalization/gamma"),
                         without.get_weight("batch_normalization/gamma")));
}

Model scheduled(int64_t steps_per_execution, const DeviceStrategyOptions& devices = {},
                int accumulation = 4) {
  const DeviceStrategy strategy(devices);
  const auto scope = strategy.scope();
  Model model(small_cnn(), {.seed = 3});
  model.set_gradient_accumulation_options({.steps_per_replica = accumulation});
  CompileOptions compiling =
      classifier(regularized(LARS({.learning_rate = rich_schedule(0.2), .eeta = 0.05}),
                             {.weight_decay = 0.01, .l2 = 0.01}),
                 {.slices = 2});
  compiling.steps_per_execution = steps_per_execution;
  model.compile(std::move(compiling));
  model.fit(image_data(48), {.epochs = 2, .batch_size = 4, .verbose = 0});
  return model;
}

TEST(LearningRateOfFit, OneLongExecutionIsAsGoodAsManyShortOnes) {
  const Model one = scheduled(12);
  for (const int64_t steps : {4, 8, 1}) EXPECT_TRUE(same_weights(one, scheduled(steps))) << steps;
}

TEST(LearningRateOfFit, ReplicasDoNotChangeTheRates) {
  const Model alone = scheduled(12);
  const Model two = scheduled(6, {.devices = 2, .cores_per_device = 1}, 2);
  EXPECT_LT(largest_difference(alone, two), 5e-6);
  EXPECT_EQ(alone.learning_rate(), two.learning_rate());
}

TEST(LearningRateOfFit, TellsTheRateOfTheNextUpdateAndAskingDoesNotChangeIt) {
  const LearningRate tenths([](int64_t update) { return 0.1 * static_cast<double>(update); });
  Model model = compiled(small_cnn(), classifier(SGD({.learning_rate = tenths})));
  EXPECT_EQ(model.learning_rate(), tenths.at(0));
  EXPECT_EQ(model.learning_rate(), tenths.at(0));
  model.fit(image_data(24), {.batch_size = 8, .verbose = 0});
  EXPECT_EQ(model.learning_rate(), tenths.at(3));
  model.evaluate(image_data(24));
  EXPECT_EQ(model.learning_rate(), tenths.at(3));
  model.set_learning_rate(0.25);
  model.fit(image_data(24), {.batch_size = 8, .verbose = 0});
  EXPECT_EQ(model.learning_rate(), 0.25);
}

TEST(LearningRateOfFit, AFailureOfTheFunctionReachesTheCaller) {
  const LearningRate failing([](int64_t update) {
    if (update == 2) throw InvalidArgument("no rate for update 2");
    return 0.1;
  });
  Model model = compiled(small_cnn(), classifier(SGD({.learning_rate = failing})));
  EXPECT_SAYS(error_of([&] { model.fit(image_data(24), {.batch_size = 8, .verbose = 0}); }),
              "no rate for update 2");
}

}  // namespace
}  // namespace pando

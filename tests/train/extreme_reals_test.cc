// Real numbers of layers, initialisers, losses and optimizers that make no sense: a typed error or
// a finite result, never a signal or endless work. Whole numbers: extreme_numbers_test.cc.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <functional>
#include <limits>

#include "tests/train/train_support.h"

namespace pando {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeast = std::numeric_limits<float>::min();
constexpr double kMost = std::numeric_limits<float>::max();
const std::vector<double> kReals = {0,      1,     -1,  0x1p31,    0x1p62,    -0x1p62,
                                    1e-310, 1e300, NAN, kInfinity, -kInfinity};

// A number that is out of range if it is below `low` or above `high`, or if 32 bits cannot hold it.
struct RealCase {
  std::string number;
  std::function<Layer(double)> layer;
  double low = -kMost;
  double high = kMost;
  std::string place = {};  // in messages; empty: the last word of `number`
};

std::vector<RealCase> layer_reals() {
  using R = double;
  return {
      {"BatchNormalization momentum", [](R r) { return BatchNormalization({.momentum = r}); }, 0,
       1},
      {"BatchNormalization epsilon", [](R r) { return BatchNormalization({.epsilon = r}); },
       1e-320},
      {"GroupNormalization epsilon",
       [](R r) { return GroupNormalization({.groups = 2, .epsilon = r}); }, 0},
      {"InstanceNormalization epsilon", [](R r) { return InstanceNormalization({.epsilon = r}); },
       0},
      {"LayerNormalization epsilon", [](R r) { return LayerNormalization({.epsilon = r}); }, 0},
      {"ReLU max_value", [](R r) { return ReLU({.max_value = r}); }, 0},
      {"ReLU negative_slope", [](R r) { return ReLU({.negative_slope = r}); }, 0, kMost, "alpha"},
      {"ELU alpha", [](R r) { return ELU({.alpha = r}); }, 0},
      {"LeakyReLU alpha", [](R r) { return LeakyReLU({.alpha = r}); }, 0},
      {"Dropout rate", [](R r) { return Dropout({.rate = r}); }, 0, 0.99},
      {"SpatialDropout2D rate", [](R r) { return SpatialDropout2D({.rate = r}); }, 0, 0.99},
      {"StochasticDepth rate", [](R r) { return StochasticDepth({.rate = r}); }, 0, 0.99},
      {"GaussianNoise stddev", [](R r) { return GaussianNoise({.stddev = r}); }, 0},
      {"Resize scales",
       [](R r) {
         return Resize({.scales = {1, r}});
       },
       0.25, 1 << 22, "expected"},
      {"Rescaling factor", [](R r) { return Rescaling({.factor = r}); }},
      {"Rescaling offset", [](R r) { return Rescaling({.offset = r}); }},
      {"NormalisePixels scale", [](R r) { return NormalisePixels({.scale = {r}}); }},
      {"NormalisePixels shift",
       [](R r) {
         return NormalisePixels({.shift = {r, 0}});
       }},
      {"Constant value",
       [](R r) { return Conv2D({.filters = 2, .bias_initializer = Constant(r)}); }},
      {"VarianceScaling scale",
       [](R r) {
         return Conv2D({.filters = 2, .kernel_initializer = VarianceScaling({.scale = r})});
       },
       1e-320},
  };
}

struct CompileCase {
  std::string number;
  std::function<void(CompileOptions&, double)> set;
  double low = 0;
  double high = kMost;
};

Loss one_hot_focal(FocalOptions options) {
  options.sparse = true;
  return CategoricalFocalCrossentropy(options);
}

std::vector<CompileCase> compile_reals() {
  using C = CompileOptions;
  using R = double;
  return {
      {"label_smoothing",
       [](C& c, R r) { c.loss = SparseCategoricalCrossentropy({.label_smoothing = r}); }, 0, 1},
      {"label_smoothing", [](C& c, R r) { c.loss = one_hot_focal({.label_smoothing = r}); }, 0, 1},
      {"gamma", [](C& c, R r) { c.loss = one_hot_focal({.gamma = r}); }},
      {"alpha", [](C& c, R r) { c.loss = one_hot_focal({.alpha = r}); }, 0, 1},
      {"loss_weights", [](C& c, R r) { c.loss_weights = r; }, -kMost},
      {"learning_rate", [](C& c, R r) { c.optimizer = SGD({.learning_rate = r}); }},
      {"momentum", [](C& c, R r) { c.optimizer = SGD({.momentum = r}); }, 0, 0.99},
      {"momentum", [](C& c, R r) { c.optimizer = LARS({.momentum = r}); }, 0, 0.99},
      {"weight_decay", [](C& c, R r) { c.optimizer = LARS({.weight_decay = r}); }},
      {"eeta", [](C& c, R r) { c.optimizer = LARS({.eeta = r}); }, kLeast},
      {"epsilon", [](C& c, R r) { c.optimizer = LARS({.epsilon = r}); }},
      {"beta_1", [](C& c, R r) { c.optimizer = Adam({.beta_1 = r}); }, 0, 0.99},
      {"beta_2", [](C& c, R r) { c.optimizer = Adam({.beta_2 = r}); }, 0, 0.99},
      {"epsilon", [](C& c, R r) { c.optimizer = Adam({.epsilon = r}); }, kLeast},
      {"weight_decay", [](C& c, R r) { c.optimizer = AdamW({.weight_decay = r}); }},
      {"beta_1", [](C& c, R r) { c.optimizer = AdamW({.beta_1 = r}); }, 0, 0.99},
      {"beta_2", [](C& c, R r) { c.optimizer = AdamW({.beta_2 = r}); }, 0, 0.99},
      {"epsilon", [](C& c, R r) { c.optimizer = AdamW({.epsilon = r}); }, kLeast},
      {"rho", [](C& c, R r) { c.optimizer = RMSprop({.rho = r}); }, 0, 0.99},
      {"momentum", [](C& c, R r) { c.optimizer = RMSprop({.momentum = r}); }, 0, 0.99},
      {"epsilon", [](C& c, R r) { c.optimizer = RMSprop({.epsilon = r}); }, kLeast},
      {"initial_accumulator", [](C& c, R r) { c.optimizer = Adagrad({.initial_accumulator = r}); }},
      {"epsilon", [](C& c, R r) { c.optimizer = Adagrad({.epsilon = r}); }, kLeast},
      {"decay", [](C& c, R r) { c.optimizer = with_average(SGD(), r); }, 0, 0.99},
      {"layer",
       [](C& c, R r) {
         c.optimizer = with_layer_rates(SGD(), {{"dense", r}});
       }},
      {"rho", [](C& c, R r) { c.optimizer = Adadelta({.rho = r}); }, 0, 0.99},
      {"epsilon", [](C& c, R r) { c.optimizer = Adadelta({.epsilon = r}); }, kLeast},
      {"weight_decay", [](C& c, R r) { c.optimizer = regularized(SGD(), {.weight_decay = r}); }},
      {"l2", [](C& c, R r) { c.optimizer = regularized(SGD(), {.l2 = r}); }},
  };
}

Network around(const Layer& layer) {
  return Sequential({4, 4, 2}, {layer, Flatten(), Dense({.units = 2, .activation = "softmax"})});
}

enum class Outcome { works, refused, not_finite };

// Trains and predicts. `place` is in the message of a refusal.
Outcome outcome_of(const std::function<Model()>& make, const std::string& place) {
  try {
    Model model = make();
    const Dataset data =
        Dataset::from_tensors(random_tensor({2, 4, 4, 2}, 3), Tensor::of_i32({2}, {0, 1}));
    const History history = model.fit(data, {.epochs = 2, .batch_size = 2, .verbose = 0});
    EXPECT_TRUE(std::isfinite(history["loss"][0]));
    EXPECT_EQ(model.predict(data, {.batch_size = 2}).shape(), (Shape{2, 2}));
    return Outcome::works;
  } catch (const InvalidArgument& error) {
    EXPECT_SAYS(std::string(error.what()), place, "expected");
    return Outcome::refused;
  } catch (const NonFiniteLoss&) {
    return Outcome::not_finite;
  }
}

void check(double value, double low, double high, Outcome outcome) {
  const bool fits = value >= low && value <= high;  // NaN does not
  if (!fits) {
    EXPECT_EQ(outcome, Outcome::refused);
  } else if (std::abs(value) <= 1) {
    EXPECT_EQ(outcome, Outcome::works);
  }
}

TEST(ExtremeReals, OfLayersAreErrorsOrWork) {
  for (const RealCase& one : layer_reals()) {
    for (const double value : kReals) {
      SCOPED_TRACE(concat(one.number, " ", value));
      const auto make = [&] {
        return compiled(around(one.layer(value)), classifier("sgd", {.threads = 1}));
      };
      const std::string place =
          one.place.empty() ? one.number.substr(one.number.find(' ') + 1) : one.place;
      check(value, one.low, one.high, outcome_of(make, place));
    }
  }
}

TEST(ExtremeReals, OfLossesAndOptimizersAreErrorsOrWork) {
  for (const CompileCase& one : compile_reals()) {
    for (const double value : kReals) {
      SCOPED_TRACE(concat(one.number, " ", value));
      const auto make = [&] {
        CompileOptions options = classifier("sgd", {.threads = 1});
        one.set(options, value);
        return compiled(around(ReLU()), options);
      };
      check(value, one.low, one.high, outcome_of(make, one.number));
    }
  }
}

}  // namespace
}  // namespace pando

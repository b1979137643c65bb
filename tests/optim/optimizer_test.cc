#include "pando/optim/optimizer.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

// Runs two updates of one weight at 1 with gradients 0.5 and -0.25.
float after_two(const Optimizer& optimizer) {
  const std::vector<SlotSpec> slots = optimizer.rule->slots();
  float w = 1, a = slots.empty() ? 0 : slots[0].initial, b = 0;
  int64_t iteration = 0;
  for (const float g : {0.5f, -0.25f}) {
    optimizer.rule->apply({.weights = &w, .gradient = &g, .slots = {&a, &b}, .count = 1},
                          {optimizer.learning_rate.at(iteration), iteration});
    ++iteration;
  }
  return w;
}

TEST(Optimizer, PlainSgd) {
  EXPECT_FLOAT_EQ(after_two(SGD({.learning_rate = 0.1})), 1 - 0.05f + 0.025f);
}

TEST(Optimizer, SgdMomentum) {
  // v: -0.05, then 0.9 * -0.05 + 0.025 = -0.02
  EXPECT_FLOAT_EQ(after_two(SGD({.learning_rate = 0.1, .momentum = 0.9})), 1 - 0.05f - 0.02f);
}

TEST(Optimizer, SgdNesterov) {
  const double first = 0.9 * -0.05 - 0.05;
  const double second = 0.9 * -0.02 + 0.025;
  EXPECT_FLOAT_EQ(after_two(SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true})),
                  static_cast<float>(1 + first + second));
}

TEST(Optimizer, AdamFollowsItsFormula) {
  double w = 1, m = 0, v = 0;
  const double b1 = 0.9, b2 = 0.999;
  const double g[] = {0.5, -0.25};
  for (int t = 1; t <= 2; ++t) {
    m = b1 * m + (1 - b1) * g[t - 1];
    v = b2 * v + (1 - b2) * g[t - 1] * g[t - 1];
    w -= 0.01 * std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t)) * m / (std::sqrt(v) + 1e-7);
  }
  EXPECT_NEAR(after_two(Adam({.learning_rate = 0.01})), w, 1e-6);
}

TEST(Optimizer, AdamWDecaysTheWeightNotTheGradient) {
  float w = 2, m = 0, v = 0;
  const float g = 0;
  const Optimizer adamw = AdamW({.learning_rate = 0.5, .weight_decay = 0.1});
  adamw.rule->apply({.weights = &w, .gradient = &g, .slots = {&m, &v}, .count = 1}, {0.5, 0});
  EXPECT_FLOAT_EQ(w, 1.9f);
  EXPECT_EQ(m, 0.0f);
}

TEST(Optimizer, Rmsprop) {
  double s = 0, w = 1;
  for (const double g : {0.5, -0.25}) {
    s = 0.9 * s + 0.1 * g * g;
    w -= 0.01 * g / (std::sqrt(s) + 1e-7);
  }
  EXPECT_NEAR(after_two(RMSprop({.learning_rate = 0.01})), w, 1e-6);
  double v = 0;
  s = 0, w = 1;
  for (const double g : {0.5, -0.25}) {
    s = 0.9 * s + 0.1 * g * g;
    v = 0.8 * v + 0.01 * g / std::sqrt(s + 1e-7);
    w -= v;
  }
  EXPECT_NEAR(after_two(RMSprop({.learning_rate = 0.01, .momentum = 0.8})), w, 1e-6);
}

TEST(Optimizer, Adadelta) {
  double a = 0, b = 0, w = 1;
  for (const double g : {0.5, -0.25}) {
    a = 0.95 * a + 0.05 * g * g;
    const double d = g * std::sqrt(b + 1e-7) / std::sqrt(a + 1e-7);
    b = 0.95 * b + 0.05 * d * d;
    w -= 1.0 * d;
  }
  EXPECT_NEAR(after_two(Adadelta({.learning_rate = 1.0})), w, 1e-6);
}

TEST(Optimizer, Adagrad) {
  double a = 0.1, w = 1;
  for (const double g : {0.5, -0.25}) {
    a += g * g;
    w -= 0.5 * g / (std::sqrt(a) + 1e-7);
  }
  EXPECT_NEAR(after_two(Adagrad({.learning_rate = 0.5})), w, 1e-6);
  EXPECT_NEAR(after_two(Adagrad({.learning_rate = 0.5})), 0.7720477, 1e-6);  // that of PyTorch
  EXPECT_SAYS(testing_support::error_of([] { Adagrad({.initial_accumulator = -1}); }), "adagrad",
              "initial_accumulator");
  EXPECT_SAYS(testing_support::error_of([] { Adagrad({.epsilon = 0}); }), "adagrad", "epsilon");
}

// Two weights with a given gradient, and the weights after LARS, in double precision.
struct LarsCase {
  LarsOptions options;
  bool scale_or_shift = false;
  std::array<double, 2> weights = {3, -4};
  std::array<double, 2> gradient = {0.6, 0.8};
};

void expect_lars(const LarsCase& c) {
  const LarsOptions& o = c.options;
  std::array<float, 2> w{}, m{};
  std::array<double, 2> expected_w = c.weights, expected_m{};
  std::array<float, 2> g{};
  for (size_t i = 0; i < 2; ++i) {
    w[i] = static_cast<float>(c.weights[i]);
    g[i] = static_cast<float>(c.gradient[i]);
  }
  for (int64_t t = 0; t < 3; ++t) {
    const double weights = std::hypot(expected_w[0], expected_w[1]);
    const double gradient = std::hypot(c.gradient[0], c.gradient[1]);
    const double rate = o.learning_rate.at(t);
    LARS(o).rule->apply({.weights = w.data(),
                         .gradient = g.data(),
                         .slots = {m.data()},
                         .count = 2,
                         .norms = {weights, gradient},
                         .scale_or_shift = c.scale_or_shift},
                        {rate, t});
    const double epsilon = o.epsilon == 0 ? 1e-7 : o.epsilon;
    double trust = o.eeta * weights / (gradient + o.weight_decay * weights + epsilon);
    if (c.scale_or_shift || weights == 0 || gradient == 0) trust = 1;
    for (size_t i = 0; i < 2; ++i) {
      const double decayed =
          c.gradient[i] + (c.scale_or_shift ? 0 : o.weight_decay) * expected_w[i];
      expected_m[i] = o.momentum * expected_m[i] + rate * trust * decayed;
      expected_w[i] -=
          o.nesterov ? o.momentum * expected_m[i] + rate * trust * decayed : expected_m[i];
      EXPECT_NEAR(w[i], expected_w[i], 2e-6) << t;
      EXPECT_NEAR(m[i], expected_m[i], 2e-6) << t;
    }
  }
}

TEST(Optimizer, LarsFollowsItsFormula) {
  const LarsOptions seed{
      .learning_rate = 2.0, .momentum = 0.9, .weight_decay = 0.01, .eeta = 0.02, .epsilon = 0};
  expect_lars({.options = seed});
  LarsOptions nesterov = seed;
  nesterov.nesterov = true;
  expect_lars({.options = nesterov});
  LarsOptions epsilon = seed;
  epsilon.epsilon = 0.5;
  expect_lars({.options = epsilon});
}

TEST(Optimizer, LarsLeavesBiasesAndNormsOfZeroAlone) {
  const LarsOptions options{.learning_rate = 0.1, .weight_decay = 0.5, .eeta = 0.02};
  expect_lars({.options = options, .scale_or_shift = true});
  expect_lars({.options = options, .gradient = {0, 0}});
  // At 0 the first update has trust 1: w = -lr g.
  float w = 0, m = 0;
  const float g = 2;
  LARS(options).rule->apply(
      {.weights = &w, .gradient = &g, .slots = {&m}, .count = 1, .norms = {0, 2}}, {0.1, 0});
  EXPECT_FLOAT_EQ(w, -0.2f);
}

TEST(Optimizer, BiasesAndNormalisationAreToldByTheLastPartOfTheName) {
  for (const char* name : {"conv2d/bias", "bn/gamma", "bn/beta", "bias", "a/b/beta"}) {
    EXPECT_TRUE(is_scale_or_shift(name)) << name;
  }
  for (const char* name : {"conv2d/kernel", "unbiased/kernel", "gamma_ray/kernel", ""}) {
    EXPECT_FALSE(is_scale_or_shift(name)) << name;
  }
}

TEST(Optimizer, RegularizationIsCheckedAndKept) {
  const Optimizer sgd = regularized(SGD(), {.weight_decay = 0.1, .l2 = 0.2});
  EXPECT_EQ(sgd.regularization.weight_decay, 0.1);
  EXPECT_EQ(sgd.regularization.l2, 0.2);
  EXPECT_THROW(regularized(SGD(), {.weight_decay = -1}), InvalidArgument);
  EXPECT_THROW(regularized(SGD(), {.l2 = -1}), InvalidArgument);
  EXPECT_THROW(regularized(AdamW(), {.weight_decay = 0.1}), InvalidArgument);
  EXPECT_EQ(regularized(AdamW({.weight_decay = 0}), {.weight_decay = 0.1}).rule->name(), "adamw");
  EXPECT_EQ(regularized(AdamW(), {.l2 = 0.1}).regularization.l2, 0.1);
}

TEST(Optimizer, TakesAScheduleForItsRate) {
  const Optimizer sgd =
      SGD({.learning_rate = CosineDecay({.initial_learning_rate = 0.4, .decay_updates = 2})});
  EXPECT_DOUBLE_EQ(sgd.learning_rate.at(1), 0.2);
  EXPECT_THROW(Adam({.learning_rate = LearningRate([](int64_t) { return -1.0; })}),
               InvalidArgument);
}

TEST(Optimizer, SpanResultsDoNotDependOnTheCut) {
  std::vector<float> g(37), whole(37, 1.0f), cut(37, 1.0f), m(37), v(37), m2(37), v2(37);
  for (size_t i = 0; i < g.size(); ++i) g[i] = std::sin(static_cast<float>(i));
  const Optimizer adam = Adam();
  adam.rule->apply({whole.data(), g.data(), {m.data(), v.data()}, 37}, {0.1, 0});
  for (size_t i = 0; i < g.size(); ++i) {
    adam.rule->apply({&cut[i], &g[i], {&m2[i], &v2[i]}, 1}, {0.1, 0});
  }
  for (size_t i = 0; i < g.size(); ++i) EXPECT_NEAR(whole[i], cut[i], 1e-6);
}

TEST(Optimizer, NamesAndRanges) {
  for (const std::string& name : optimizer_names())
    EXPECT_EQ(make_optimizer(name).rule->name(), name);
  EXPECT_THROW(make_optimizer("sdg"), InvalidArgument);
  EXPECT_THROW(SGD({.learning_rate = -1}), InvalidArgument);
  EXPECT_THROW(SGD({.momentum = 1}), InvalidArgument);
  EXPECT_THROW(SGD({.nesterov = true}), InvalidArgument);
  EXPECT_THROW(Adam({.epsilon = 0}), InvalidArgument);
  EXPECT_THROW(AdamW({.weight_decay = -1}), InvalidArgument);
  EXPECT_THROW(LARS({.eeta = 0}), InvalidArgument);
  EXPECT_THROW(LARS({.weight_decay = -1}), InvalidArgument);
  EXPECT_THROW(LARS({.epsilon = -1}), InvalidArgument);
  EXPECT_THROW(LARS({.momentum = 0, .nesterov = true}), InvalidArgument);
}

TEST(Optimizer, LayersMayHaveOtherRates) {
  const Optimizer optimizer = with_layer_rates(SGD(), {{"block/dense", 10.0}});
  EXPECT_EQ(optimizer.rate_factor("block/dense/kernel"), 10);
  EXPECT_EQ(optimizer.rate_factor("dense/kernel"), 1);
  EXPECT_SAYS(testing_support::error_of([] {
                with_layer_rates(SGD(), {{"dense", -1.0}});
              }),
              "dense", "-1");
}

}  // namespace
}  // namespace pando

#include "pando/optim/optimizer.h"

#include <cmath>

#include <gtest/gtest.h>

#include "pando/base/error.h"

namespace pando {
namespace {

// Runs two updates of one weight at 1 with gradients 0.5 and -0.25.
float after_two(const Optimizer& optimizer) {
  float w = 1, a = 0, b = 0;
  int64_t iteration = 0;
  for (const float g : {0.5f, -0.25f}) {
    optimizer.rule->apply({.weights = &w, .gradient = &g, .slots = {&a, &b}, .count = 1},
                          {.learning_rate = optimizer.learning_rate, .iteration = iteration++});
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
}

}  // namespace
}  // namespace pando

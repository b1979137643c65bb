#include "pando/optim/schedule.h"

#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

struct Point {
  int64_t update;
  double rate;
};

void expect_rates(const LearningRate& rate, const std::vector<Point>& points) {
  for (const Point& point : points) {
    EXPECT_DOUBLE_EQ(rate.at(point.update), point.rate) << point.update;
  }
}

// The rate 10 t, which shows for which update t the function was called.
LearningRate tens() {
  return LearningRate([](int64_t update) { return 10.0 * static_cast<double>(update); });
}

TEST(LearningRate, ANumberStaysThatNumber) {
  const LearningRate rate = 0.25;
  expect_rates(rate, {{0, 0.25}, {1, 0.25}, {std::numeric_limits<int64_t>::max(), 0.25}});
  EXPECT_TRUE(rate.is_constant());
  EXPECT_FALSE(tens().is_constant());
}

TEST(LearningRate, AnEmptyFunctionIsRefused) {
  EXPECT_SAYS(error_of([] { LearningRate(std::function<double(int64_t)>()); }), "learning rate",
              "empty");
}

TEST(LearningRate, Cosine) {
  const LearningRate rate = CosineDecay({.initial_learning_rate = 0.8, .decay_updates = 12});
  expect_rates(rate, {{0, 0.8},
                      {2, 0.4 * (1 + std::sqrt(0.75))},
                      {4, 0.6},
                      {8, 0.2},
                      {12, 0},
                      {13, 0},
                      {1000, 0}});
  EXPECT_NEAR(rate.at(6), 0.4, 1e-15);
}

TEST(LearningRate, Polynomial) {
  const LearningRate square = PolynomialDecay(
      {.initial_learning_rate = 1.1, .decay_updates = 10, .end_learning_rate = 0.1, .power = 2});
  expect_rates(square, {{0, 1.1}, {1, 0.91}, {5, 0.35}, {9, 0.11}, {10, 0.1}, {11, 0.1}});
  // 7.5 updates: the fraction of an update is not rounded off.
  const LearningRate line = PolynomialDecay(
      {.initial_learning_rate = 3, .decay_updates = 7.5, .end_learning_rate = 0, .power = 1});
  expect_rates(line, {{0, 3}, {5, 1}, {8, 0}});
  EXPECT_NEAR(line.at(7), 0.2, 1e-15);
}

TEST(LearningRate, PiecewiseConstantKeepsAValueUpToAndWithItsBoundary) {
  const LearningRate rate =
      PiecewiseConstantDecay({.boundaries = {3, 5}, .values = {0.3, 0.2, 0.1}});
  expect_rates(rate, {{0, 0.3}, {3, 0.3}, {4, 0.2}, {5, 0.2}, {6, 0.1}, {7, 0.1}});
  expect_rates(PiecewiseConstantDecay({.boundaries = {}, .values = {0.5}}), {{0, 0.5}, {9, 0.5}});
}

TEST(LearningRate, WarmupByShift) {
  // f(0)/10, 2f(0)/10, ..., f(0) at 9, f(1) at 10
  const LearningRate rate =
      with_warmup(LearningRate([](int64_t t) { return 100.0 - static_cast<double>(t); }),
                  {.mode = WarmupMode::shift, .updates = 9});
  expect_rates(rate, {{0, 10}, {1, 20}, {8, 90}, {9, 100}, {10, 99}, {19, 90}});
}

TEST(LearningRate, WarmupByMask) {
  const LearningRate rate =
      with_warmup(LearningRate([](int64_t t) { return 100.0 - static_cast<double>(t); }),
                  {.mode = WarmupMode::mask, .updates = 9});
  expect_rates(rate, {{0, 10}, {1, 19.8}, {8, 82.8}, {9, 91}, {10, 90}});
}

TEST(LearningRate, WarmupOfAConstantAndOfNoUpdates) {
  for (const WarmupMode mode : {WarmupMode::shift, WarmupMode::mask}) {
    expect_rates(with_warmup(3.0, {.mode = mode, .updates = 2}), {{0, 1}, {1, 2}, {2, 3}, {3, 3}});
    EXPECT_TRUE(with_warmup(3.0, {.mode = mode, .updates = 0}).is_constant());
  }
}

TEST(LearningRate, Stairs) {
  expect_rates(in_stairs(tens(), 2), {{0, 0}, {1, 0}, {2, 20}, {3, 20}, {4, 40}});
  expect_rates(in_stairs(tens(), 1), {{0, 0}, {1, 10}});
  // With a warm-up that ends inside a tread.
  const LearningRate both =
      in_stairs(with_warmup(tens(), {.mode = WarmupMode::shift, .updates = 3}), 2);
  expect_rates(both, {{2, 0}, {3, 0}, {4, 10}, {5, 10}, {6, 30}});
}

// 2^24 + 1 cannot be stored in a float.
TEST(LearningRate, UpdatesAreCountedExactly) {
  const int64_t far = (int64_t{1} << 24) + 1;
  expect_rates(PiecewiseConstantDecay({.boundaries = {far - 1}, .values = {1, 2}}),
               {{far - 1, 1}, {far, 2}});
  expect_rates(in_stairs(tens(), far), {{far - 1, 0}, {far, 10.0 * static_cast<double>(far)}});
}

TEST(LearningRate, NumbersOutOfRange) {
  EXPECT_SAYS(error_of([] { CosineDecay({.decay_updates = 0}); }), "decay_updates", "got 0");
  EXPECT_SAYS(error_of([] { CosineDecay({.initial_learning_rate = -1}); }),
              "cosine decay: initial_learning_rate", "got -1");
  EXPECT_SAYS(error_of([] { PolynomialDecay({.decay_updates = 0}); }), "decay_updates", "got 0");
  EXPECT_SAYS(error_of([] { PolynomialDecay({.power = -1}); }), "power", "got -1");
  EXPECT_SAYS(error_of([] { PolynomialDecay({.end_learning_rate = -1}); }), "end_learning_rate");
  EXPECT_SAYS(error_of([] { PiecewiseConstantDecay({.boundaries = {1}, .values = {1}}); }),
              "expected 2 values", "1 boundaries", "got 1");
  EXPECT_SAYS(error_of([] {
                PiecewiseConstantDecay({.boundaries = {2, 1}, .values = {1, 2, 3}});
              }),
              "boundaries", "ascending");
  EXPECT_SAYS(error_of([] { PiecewiseConstantDecay({.boundaries = {}, .values = {-1}}); }),
              "values", "got -1");
  EXPECT_SAYS(error_of([] { with_warmup(1.0, {.updates = -1}); }), "updates", "got -1");
  EXPECT_SAYS(error_of([] { in_stairs(1.0, 0); }), "tread", "got 0");
}

}  // namespace
}  // namespace pando

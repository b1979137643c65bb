// Checks the bounds stated in vector_math.h over the whole range.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/vector_math.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace pando::kernels::fast {
namespace {

// The distance in units in the last place of the expected value.
double distance(float got, double wanted) {
  const float near = static_cast<float>(wanted);
  const float next = std::nextafter(std::abs(near), std::numeric_limits<float>::infinity());
  return std::abs(static_cast<double>(got) - wanted) /
         (static_cast<double>(next) - static_cast<double>(std::abs(near)));
}

TEST(VectorMath, ExpIsAccurate) {
  for (double x = -87.0; x < 88.7; x += 0.00317) {
    const auto value = static_cast<float>(x);
    EXPECT_LT(distance(vector_exp(value), std::exp(static_cast<double>(value))), 2) << value;
  }
}

TEST(VectorMath, ExpAtTheEnds) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(vector_exp(0.0f), 1.0f);
  EXPECT_EQ(vector_exp(89.0f), infinity);
  EXPECT_EQ(vector_exp(1e30f), infinity);
  EXPECT_EQ(vector_exp(infinity), infinity);
  EXPECT_EQ(vector_exp(-105.0f), 0.0f);
  EXPECT_EQ(vector_exp(-infinity), 0.0f);
  EXPECT_TRUE(std::isnan(vector_exp(std::nanf(""))));
}

TEST(VectorMath, TanhAndSigmoidAreAccurate) {
  for (double x = -20.0; x < 20.0; x += 0.000713) {
    const auto value = static_cast<float>(x);
    EXPECT_LT(distance(vector_tanh(value), std::tanh(static_cast<double>(value))), 3) << value;
    const double logistic = 1 / (1 + std::exp(-static_cast<double>(value)));
    EXPECT_LT(distance(vector_sigmoid(value), logistic), 3) << value;
  }
  EXPECT_EQ(vector_tanh(0.0f), 0.0f);
  EXPECT_FLOAT_EQ(vector_tanh(1e-20f), 1e-20f);
  EXPECT_EQ(vector_tanh(100.0f), 1.0f);
  EXPECT_EQ(vector_tanh(-100.0f), -1.0f);
  EXPECT_EQ(vector_sigmoid(-200.0f), 0.0f);
  EXPECT_TRUE(std::isnan(vector_tanh(std::nanf(""))));
}

TEST(VectorMath, FunctionsOfActivationsAreAccurate) {
  for (double x = -12.5; x < 20.0; x += 0.000713) {
    const auto value = static_cast<float>(x);
    const double exact = 0.5 * std::erfc(-static_cast<double>(value) / std::sqrt(2.0));
    EXPECT_NEAR(static_cast<double>(vector_normal(value)) / exact, 1, 1e-5) << value;
    if (x > 0) continue;
    EXPECT_LT(distance(vector_expm1(value), std::expm1(static_cast<double>(value))), 6) << value;
    const float unit = std::exp(value);
    EXPECT_LT(distance(vector_log1p_unit(unit), std::log1p(static_cast<double>(unit))), 3) << value;
  }
  for (double x = 1.2e-38; x < 3e38; x *= 1.0013) {
    const auto value = static_cast<float>(x);
    const double exact = std::log(static_cast<double>(value));
    EXPECT_LT(distance(vector_log(value), exact), 3) << value;
  }
  for (int i = 0; i <= 4096; ++i) {
    const float turns = static_cast<float>(i) / 4096;
    const Circle point = vector_circle(turns);
    EXPECT_NEAR(point.cosine, std::cos(2 * std::acos(-1.0) * turns), 2e-7) << turns;
    EXPECT_NEAR(point.sine, std::sin(2 * std::acos(-1.0) * turns), 2e-7) << turns;
  }
  EXPECT_EQ(vector_normal(40.0f), 1.0f);
  EXPECT_LT(vector_normal(-40.0f), 1e-40f);
  EXPECT_TRUE(std::isnan(vector_normal(std::nanf(""))));
}

}  // namespace
}  // namespace pando::kernels::fast

#include "pando/nn/initializers.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

struct Statistics {
  double mean = 0;
  double variance = 0;
  double largest = 0;
};

Statistics statistics(const Tensor& tensor) {
  Statistics result;
  const auto count = static_cast<double>(tensor.elements());
  for (const float value : tensor.f32()) {
    result.mean += static_cast<double>(value) / count;
    result.largest = std::max(result.largest, std::abs(static_cast<double>(value)));
  }
  for (const float value : tensor.f32()) {
    const double off = static_cast<double>(value) - result.mean;
    result.variance += off * off / count;
  }
  return result;
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.f32(), b.f32());
}

TEST(Initializers, Fans) {
  const auto expect = [](const Shape& shape, double in, double out) {
    EXPECT_EQ(fans_of(shape).in, in) << shape;
    EXPECT_EQ(fans_of(shape).out, out) << shape;
  };
  expect({}, 1, 1);
  expect({7}, 7, 7);
  expect({20, 30}, 20, 30);
  expect({3, 3, 16, 32}, 144, 288);
  expect({2, 3, 4, 5, 6}, 120, 144);
}

// For the shape [3, 3, 40, 50]: 18000 values, fans 360 and 450.
struct Scaling {
  Initializer initializer;
  double variance;
  bool uniform = false;  // else a normal distribution truncated at two standard deviations
};

TEST(Initializers, HaveTheVarianceOfTheirFans) {
  const std::vector<Scaling> all = {
      {GlorotUniform(), 1 / 405.0, true},
      {GlorotNormal(), 1 / 405.0},
      {HeUniform(), 2 / 360.0, true},
      {HeNormal(), 2 / 360.0},
      {LecunUniform(), 1 / 360.0, true},
      {LecunNormal(), 1 / 360.0},
      {VarianceScaling(), 1 / 360.0},
      {VarianceScaling({3, FanMode::out, Distribution::uniform}), 3 / 450.0, true},
  };
  for (const Scaling& each : all) {
    const Statistics found = statistics(each.initializer.make({3, 3, 40, 50}, 11));
    const double deviation = std::sqrt(each.variance);
    // The standard deviation of the mean of 18000 values is 1/134 of that of one value; that of
    // their variance is below 1/67.
    EXPECT_NEAR(found.mean, 0, deviation * 4 / 134) << each.initializer.name();
    EXPECT_NEAR(found.variance, each.variance, each.variance * 4 / 67) << each.initializer.name();
    const double limit = each.uniform ? std::sqrt(3.0) : 2 / 0.8796256610342398;
    EXPECT_LE(found.largest, deviation * limit * 1.000001) << each.initializer.name();
    EXPECT_GE(found.largest, deviation * limit * 0.99) << each.initializer.name();
  }
}

TEST(Initializers, PlainNormalHasTails) {
  const Initializer normal = VarianceScaling({.distribution = Distribution::normal});
  const Statistics found = statistics(normal.make({3, 3, 40, 50}, 5));
  EXPECT_NEAR(found.variance, 1 / 360.0, 1 / 360.0 * 4 / 67);
  EXPECT_GT(found.largest, 3 / std::sqrt(360.0));
}

TEST(Initializers, Constants) {
  EXPECT_EQ(statistics(Zeros().make({3, 4}, 1)).largest, 0);
  EXPECT_EQ(statistics(Ones().make({3, 4}, 1)).mean, 1);
  EXPECT_EQ(Constant(2.5).make({2}, 1).f32()[1], 2.5f);
}

TEST(Initializers, ValuesAreAFunctionOfTheKey) {
  const Initializer glorot = GlorotUniform();
  const Tensor first = glorot.make({5, 7}, 42);
  const Tensor other = glorot.make({5, 7}, 43);
  EXPECT_TRUE(equal(first, glorot.make({5, 7}, 42)));
  EXPECT_TRUE(equal(first, GlorotUniform().make({5, 7}, 42)));
  EXPECT_FALSE(equal(first, other));
}

TEST(Initializers, RefuseAScaleThatIsNoScale) {
  for (const double scale : {0.0, -1.0, std::nan("")}) {
    EXPECT_SAYS(error_of([&] { VarianceScaling({.scale = scale}); }), "scale");
  }
}

TEST(Initializers, WithoutARuleIsAnInternalError) {
  EXPECT_FALSE(Initializer());
  EXPECT_THROW(Initializer().make({2}, 1), InternalError);
}

}  // namespace
}  // namespace pando

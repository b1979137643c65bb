// Statistics of stochastic rounding: the noise is uniform and independent, and the mean of many
// roundings is the number itself. Keys are fixed, so no test fails by chance.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "pando/tensor/half.h"
#include "pando/tensor/half_rounding.h"

namespace pando {
namespace {

constexpr uint64_t kKeys[] = {0, 1, 0xffffffffULL, 0x0123456789abcdefULL, ~0ULL};
constexpr size_t kNoise = 1 << 18;

std::vector<uint32_t> noise_of(uint64_t key, uint64_t first = 0) {
  std::vector<uint32_t> noise(kNoise);
  for (size_t i = 0; i < kNoise; ++i) noise[i] = rounding_noise(key, first + i);
  return noise;
}

// The distance, in standard deviations, from the mean for 256 equally likely values.
double chi_square_deviation(const std::vector<uint32_t>& noise, int shift) {
  std::vector<double> counts(256);
  for (const uint32_t bits : noise) counts[(bits >> shift) & 0xff] += 1;
  const double expected = static_cast<double>(noise.size()) / 256;
  double chi_square = 0;
  for (const double count : counts) chi_square += (count - expected) * (count - expected);
  return (chi_square / expected - 255) / std::sqrt(2.0 * 255);
}

TEST(RoundingNoise, Has16UniformBits) {
  for (const uint64_t key : kKeys) {
    const std::vector<uint32_t> noise = noise_of(key);
    for (const uint32_t bits : noise) ASSERT_LT(bits, 0x10000u);
    for (const int shift : {0, 3, 8}) {
      EXPECT_LT(std::abs(chi_square_deviation(noise, shift)), 4) << key << " shift " << shift;
    }
  }
}

// The correlation, in standard errors of independent numbers.
double correlation(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, size_t lag) {
  double sum = 0;
  const size_t count = a.size() - lag;
  for (size_t i = 0; i < count; ++i) {
    sum += (static_cast<double>(a[i]) - 32767.5) * (static_cast<double>(b[i + lag]) - 32767.5);
  }
  const double variance = (65536.0 * 65536.0 - 1) / 12;
  return sum / variance / std::sqrt(static_cast<double>(count));
}

TEST(RoundingNoise, NeighboursAreIndependent) {
  for (const uint64_t key : kKeys) {
    const std::vector<uint32_t> noise = noise_of(key);
    for (const size_t lag : {1, 2, 8, 15, 16, 17, 32, 64, 1024}) {
      EXPECT_LT(std::abs(correlation(noise, noise, lag)), 4) << key << " lag " << lag;
    }
  }
}

TEST(RoundingNoise, KeysThatDifferInOneBitAreIndependent) {
  const std::vector<uint32_t> noise = noise_of(42);
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_LT(std::abs(correlation(noise, noise_of(42 ^ (1ULL << bit)), 0)), 4) << bit;
  }
}

TEST(RoundingNoise, LaterNumbersAreOtherNumbers) {
  const std::vector<uint32_t> noise = noise_of(42);
  for (const uint64_t first : {uint64_t{1} << 20, uint64_t{1} << 32}) {
    EXPECT_LT(std::abs(correlation(noise, noise_of(42, first), 0)), 4) << first;
  }
}

double value_of(DType type, uint16_t half) {
  return type == DType::bf16 ? from_bf16(half) : from_f16(half);
}

// Normal and subnormal numbers of f16, close to and far from their neighbours.
TEST(StochasticRounding, MeanOfManyIsTheNumber) {
  constexpr float kNumbers[] = {1.0001f,      1.0004f,     -1.00077f, 2.999f,    1000.001f,
                                65503.9f,     6.2e-5f,     6.1e-5f,   -3.3e-6f,  2.0e-7f,
                                5.9e-8f,      1.5e-8f,     -0.33333f, 12345.67f, 1e-3f,
                                0x1.812p-25f, 0x1.01p-30f, 3.14159f};
  for (const DType type : {DType::f16, DType::bf16}) {
    uint64_t key = 1;
    for (const float number : kNumbers) {
      const std::vector<float> numbers(1 << 16, number);
      std::vector<uint16_t> halves(numbers.size());
      round_halves(type, numbers.data(), halves.data(), 1 << 16,
                   {.stochastic = true, .key = ++key});
      double sum = 0;
      double squares = 0;
      for (const uint16_t half : halves) {
        const double error = value_of(type, half) - static_cast<double>(number);
        sum += error;
        squares += error * error;
      }
      const auto count = static_cast<double>(halves.size());
      EXPECT_GT(squares, 0) << number;  // none of the numbers is a half
      EXPECT_LT(std::abs(sum) / std::sqrt(squares), 4) << to_string(type) << " " << number;
      EXPECT_LT(std::abs(sum / count), std::abs(number)) << to_string(type) << " " << number;
    }
  }
}

constexpr float kWeight = 1000;
constexpr float kUpdate = 1e-3f;
constexpr int kUpdates = 1000;

// The mean of many weights that start at kWeight, after kUpdates updates.
double mean_after_updates(bool stochastic) {
  constexpr int64_t kWeights = 1 << 14;
  std::vector<float> values(kWeights);
  std::vector<uint16_t> weights(kWeights, to_f16(kWeight));
  for (int update = 0; update < kUpdates; ++update) {
    widen_halves(DType::f16, weights.data(), values.data(), kWeights);
    for (float& value : values) value += kUpdate;
    round_halves(DType::f16, values.data(), weights.data(), kWeights,
                 {.stochastic = stochastic, .key = static_cast<uint64_t>(update)});
  }
  double sum = 0;
  for (const uint16_t weight : weights) sum += static_cast<double>(from_f16(weight));
  return sum / static_cast<double>(kWeights);
}

TEST(StochasticRounding, UpdatesThatNearestRoundingLosesAddUp) {
  EXPECT_EQ(mean_after_updates(false), static_cast<double>(kWeight));

  // The update as f32 rounds it; the f16 after 1000 is 1000.5.
  const double update = static_cast<double>(kWeight + kUpdate) - static_cast<double>(kWeight);
  EXPECT_NEAR(update, 1e-3, 3e-5);
  const double up = update / 0.5;
  const double deviation = 0.5 * std::sqrt(kUpdates * up * (1 - up));
  EXPECT_NEAR(mean_after_updates(true), static_cast<double>(kWeight) + kUpdates * update,
              4 * deviation / std::sqrt(1 << 14));
}

}  // namespace
}  // namespace pando

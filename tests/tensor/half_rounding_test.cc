// Every instruction set rounds and widens as the definition does, bit for bit, with and without
// flushed denormals, and raises the processor's flags only for what overflows.
// SPDX-License-Identifier: MIT
#include "pando/tensor/half_rounding.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "pando/base/random.h"
#include "pando/kernels/denormals.h"
#include "pando/tensor/half.h"
#include "pando/tensor/half_isa.h"

namespace pando {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int kErrors = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;

// Every exponent and sign, with mantissas around what the types keep and drop, ties among them.
std::vector<float> sweep() {
  std::vector<uint32_t> mantissas = {0, 0x7fffff};
  for (int bit = 0; bit < 23; ++bit) {
    for (const uint32_t near : {0U, 1U, ~0U}) {
      mantissas.push_back(((1U << bit) + near) & 0x7fffff);
      mantissas.push_back(((3U << bit) + near) & 0x7fffff);
      mantissas.push_back((0x7fffff - (1U << bit) + near) & 0x7fffff);
    }
  }
  RandomStream random(7);
  std::vector<float> values;
  for (uint32_t top = 0; top < 512; ++top) {
    for (const uint32_t mantissa : mantissas) {
      values.push_back(std::bit_cast<float>(top << 23 | mantissa));
    }
    for (int i = 0; i < 32; ++i) {
      values.push_back(std::bit_cast<float>(top << 23 | random.next_word() >> 9));
    }
  }
  return values;
}

std::vector<float> shuffled(const std::vector<float>& values) {
  std::vector<float> result;
  for (const int64_t i : random_permutation(static_cast<int64_t>(values.size()), 3)) {
    result.push_back(values[static_cast<size_t>(i)]);
  }
  return result;
}

std::vector<HalfRounding> all_roundings() {
  return {{},
          {.nan_on_overflow = true},
          {.stochastic = true, .key = 0x123456789abcdef0},
          {.stochastic = true, .nan_on_overflow = true, .key = 5, .first = 1000003}};
}

std::vector<uint16_t> defined(DType type, const std::vector<float>& values,
                              const HalfRounding& rounding) {
  std::vector<uint16_t> halves;
  for (const float value : values) {
    halves.push_back(round_half(type, value, rounding, rounding.first + halves.size()));
  }
  return halves;
}

std::vector<uint16_t> rounded(const HalfIsa& isa, DType type, const std::vector<float>& values,
                              const HalfRounding& rounding) {
  std::vector<uint16_t> halves(values.size());
  round_halves(isa, type, values, halves.data(), rounding);
  return halves;
}

template <typename Function>
void with_flushed_denormals(Function function) {
  std::thread([&] {
    kernels::flush_denormals();
    function();
  }).join();
}

class HalfIsaTest : public testing::TestWithParam<const HalfIsa*> {
 protected:
  static void expect_defined(DType type, const std::vector<float>& values,
                             const HalfRounding& rounding) {
    const std::vector<uint16_t> wanted = defined(type, values, rounding);
    EXPECT_EQ(rounded(*GetParam(), type, values, rounding), wanted);
    with_flushed_denormals([&] {
      EXPECT_EQ(defined(type, values, rounding), wanted);
      EXPECT_EQ(rounded(*GetParam(), type, values, rounding), wanted);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Halves, HalfIsaTest,
                         testing::ValuesIn(half_isas().begin(), half_isas().end()),
                         [](const auto& test) { return std::string(test.param->name); });

TEST_P(HalfIsaTest, RoundsAsDefined) {
  const std::vector<float> values = sweep();
  for (const DType type : {DType::f16, DType::bf16}) {
    for (const HalfRounding& rounding : all_roundings()) expect_defined(type, values, rounding);
  }
}

TEST_P(HalfIsaTest, RoundsOddNumbersAmongOthersAsDefined) {
  const std::vector<float> values = shuffled(sweep());
  for (const DType type : {DType::f16, DType::bf16}) {
    for (const HalfRounding& rounding : all_roundings()) expect_defined(type, values, rounding);
  }
}

TEST_P(HalfIsaTest, WidensAllHalves) {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  std::vector<float> values(halves.size());
  const auto expect_widened = [&](DType type) {
    std::feclearexcept(FE_ALL_EXCEPT);
    widen_halves(*GetParam(), type, halves, values.data());
    EXPECT_EQ(std::fetestexcept(kErrors), 0);
    for (const uint16_t half : halves) {
      const float wanted = type == DType::bf16 ? from_bf16(half) : from_f16(half);
      ASSERT_EQ(std::bit_cast<uint32_t>(values[half]), std::bit_cast<uint32_t>(wanted)) << half;
    }
  };
  for (const DType type : {DType::f16, DType::bf16}) {
    expect_widened(type);
    with_flushed_denormals([&] { expect_widened(type); });
  }
}

// Also checks that memory around the run is not changed.
TEST_P(HalfIsaTest, TakesRunsOfEveryLengthAndPlace) {
  const std::vector<float> values = shuffled(sweep());
  constexpr uint16_t kUntouched = 0xabcd;
  for (size_t count = 0; count <= 70; ++count) {
    for (const size_t offset : {size_t{0}, size_t{1}, size_t{31}}) {
      for (HalfRounding rounding : all_roundings()) {
        rounding.first += offset;
        const std::vector<float> run(values.end() - static_cast<int64_t>(count), values.end());
        const std::vector<uint16_t> wanted = defined(DType::f16, run, rounding);
        std::vector<uint16_t> halves(count + offset + 2, kUntouched);
        round_halves(*GetParam(), DType::f16, run, halves.data() + offset + 1, rounding);
        EXPECT_EQ(halves[offset], kUntouched);
        EXPECT_EQ(halves.back(), kUntouched);
        EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), halves.data() + offset + 1));

        std::vector<float> back(count + 2, -1);
        widen_halves(*GetParam(), DType::f16, wanted, back.data() + 1);
        EXPECT_EQ(back.front(), -1);
        EXPECT_EQ(back.back(), -1);
        for (size_t i = 0; i < count; ++i) {
          EXPECT_EQ(std::bit_cast<uint32_t>(back[i + 1]),
                    std::bit_cast<uint32_t>(from_f16(wanted[i])));
        }
      }
    }
  }
}

TEST_P(HalfIsaTest, PiecesOfARunAreRoundedAsTheWhole) {
  const std::vector<float> values = shuffled(sweep());
  HalfRounding rounding{.stochastic = true, .key = 77};
  const std::vector<uint16_t> whole = rounded(*GetParam(), DType::f16, values, rounding);
  std::vector<uint16_t> pieces(values.size());
  size_t at = 0;
  for (size_t length = 1; at < values.size(); length = length * 7 % 193 + 1) {
    rounding.first = at;
    const std::span<const float> piece(values.data() + at, std::min(length, values.size() - at));
    round_halves(*GetParam(), DType::f16, piece, pieces.data() + at, rounding);
    at += piece.size();
  }
  EXPECT_EQ(pieces, whole);
}

TEST_P(HalfIsaTest, OnlyOverflowRaisesAFlag) {
  std::vector<float> fitting;
  for (const float value : sweep()) {
    const bool fits = !(std::bit_cast<uint32_t>(std::fabs(value)) >= 0x477ff000);
    if (fits || std::isnan(value)) fitting.push_back(value);
  }
  for (const HalfRounding& rounding : all_roundings()) {
    std::feclearexcept(FE_ALL_EXCEPT);
    rounded(*GetParam(), DType::f16, fitting, rounding);
    EXPECT_EQ(std::fetestexcept(kErrors), 0);
    for (const float large : {65520.0f, -1e6f, kInfinity}) {
      std::vector<float> values(45, 1.0f);
      values[17] = large;
      std::feclearexcept(FE_ALL_EXCEPT);
      rounded(*GetParam(), DType::f16, values, rounding);
      EXPECT_EQ(std::fetestexcept(kErrors), FE_OVERFLOW) << large;
    }
    std::feclearexcept(FE_ALL_EXCEPT);
    rounded(*GetParam(), DType::bf16, {1e38f, 3.4e38f, kInfinity}, rounding);
    EXPECT_EQ(std::fetestexcept(kErrors), FE_OVERFLOW);
    std::feclearexcept(FE_ALL_EXCEPT);
    rounded(*GetParam(), DType::bf16, {1e38f, 0x1.fep127f, kNan}, rounding);
    EXPECT_EQ(std::fetestexcept(kErrors), 0);
  }
}

uint16_t nearest(DType type, float value, bool nan_on_overflow = false) {
  return round_half(type, value, {.nan_on_overflow = nan_on_overflow}, 0);
}

TEST(RoundHalf, TooLargeSaturatesOrIsNan) {
  EXPECT_EQ(nearest(DType::f16, 65504), 0x7bff);
  EXPECT_EQ(nearest(DType::f16, 65519.99f, true), 0x7bff);
  EXPECT_EQ(nearest(DType::f16, 65520), 0x7bff);
  EXPECT_EQ(nearest(DType::f16, -kInfinity), 0xfbff);
  EXPECT_EQ(nearest(DType::f16, 65520, true), 0x7e00);
  EXPECT_EQ(nearest(DType::f16, -kInfinity, true), 0xfe00);
  EXPECT_EQ(nearest(DType::f16, kNan), 0x7e00);
  EXPECT_EQ(nearest(DType::bf16, 0x1.fep127f, true), 0x7f7f);
  EXPECT_EQ(nearest(DType::bf16, 0x1.fefffep127f, true), 0x7f7f);
  EXPECT_EQ(nearest(DType::bf16, 0x1.ffp127f), 0x7f7f);
  EXPECT_EQ(nearest(DType::bf16, 0x1.ffp127f, true), 0x7fc0);
  EXPECT_EQ(nearest(DType::bf16, -kInfinity), 0xff7f);
  EXPECT_EQ(nearest(DType::bf16, kNan), 0x7fc0);
}

TEST(RoundHalf, NearestIsToEven) {
  EXPECT_EQ(from_f16(nearest(DType::f16, 2049)), 2048.0f);
  EXPECT_EQ(from_f16(nearest(DType::f16, 2051)), 2052.0f);
  EXPECT_EQ(nearest(DType::f16, 0x1p-25f), 0);
  EXPECT_EQ(nearest(DType::f16, 0x1.8p-24f), 2);
  EXPECT_EQ(nearest(DType::f16, -0x1.000002p-25f), 0x8001);
  EXPECT_EQ(from_bf16(nearest(DType::bf16, 257)), 256.0f);
  EXPECT_EQ(from_bf16(nearest(DType::bf16, 259)), 260.0f);
}

// Noise does not change numbers that are halves already; other numbers go to one of their
// neighbours.
TEST(RoundHalf, StochasticGoesToANeighbour) {
  const HalfRounding stochastic{.stochastic = true, .key = 11};
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float below = from_f16(half);
    const float above = from_f16(static_cast<uint16_t>(bits + 1));
    for (uint64_t number = 0; number < 8; ++number) {
      EXPECT_EQ(round_half(DType::f16, -below, stochastic, number), half | 0x8000);
      const float between = below + (above - below) * 0.125f * static_cast<float>(number);
      const uint16_t rounded_half = round_half(DType::f16, between, stochastic, number * 31 + bits);
      EXPECT_TRUE(rounded_half == half || rounded_half == half + 1) << between;
    }
  }
}

TEST(RoundHalf, StochasticNeverLeavesTheRange) {
  for (uint64_t number = 0; number < 100; ++number) {
    const HalfRounding rounding{.stochastic = true, .nan_on_overflow = true, .key = 3};
    EXPECT_EQ(round_half(DType::f16, 65519.99f, rounding, number), 0x7bff);
    EXPECT_EQ(round_half(DType::bf16, -0x1.fefffep127f, rounding, number), 0xff7f);
  }
}

TEST(HalfIsas, TheChosenOneIsOfThisProcessor) {
  const auto isas = half_isas();
  EXPECT_NE(std::find(isas.begin(), isas.end(), &chosen_half_isa()), isas.end());
  EXPECT_EQ(isas.back(), plain_halves());
}

}  // namespace
}  // namespace pando

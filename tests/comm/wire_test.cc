// SPDX-License-Identifier: MIT
#include "pando/comm/wire.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace pando::comm {
namespace {

std::vector<float> through_wire(WireFormat format, const std::vector<float>& values) {
  std::vector<std::byte> message(wire_bytes(format, values.size()));
  encode(format, values, message.data());
  std::vector<float> result(values.size());
  decode(format, message.data(), result);
  return result;
}

TEST(Wire, NumbersOf32BitsArriveAsTheyAre) {
  const std::vector<float> values = {1.0f / 3, -1e-30f, 1e30f, 0};
  EXPECT_EQ(through_wire(WireFormat::f32, values), values);
  EXPECT_EQ(wire_bytes(WireFormat::f32, 4), 16u);
  EXPECT_EQ(wire_bytes(WireFormat::f32, 0), 0u);
}

TEST(Wire, HalvesAreRoundedRelativeToTheLargest) {
  for (const float magnitude : {1e-20f, 1e-6f, 1.0f, 1e6f, 1e20f}) {
    std::vector<float> values;
    for (int i = 1; i <= 1003; ++i) {
      values.push_back(magnitude * static_cast<float>(i % 2 == 0 ? i : -i) / 1003);
    }
    const std::vector<float> halves = through_wire(WireFormat::f16, values);
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(halves[i] / values[i], 1, 1.0 / 2048) << magnitude << " at " << i;
    }
  }
  EXPECT_EQ(wire_bytes(WireFormat::f16, 1003), 4u + 2006u);
  EXPECT_EQ(wire_bytes(WireFormat::f16, 0), 0u);
}

TEST(Wire, Bf16KeepsTheRangeOf32Bits) {
  std::vector<float> values;
  for (float magnitude = 1e-37f; magnitude < 1e38f; magnitude *= 7) values.push_back(magnitude);
  const std::vector<float> halves = through_wire(WireFormat::bf16, values);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(halves[i] / values[i], 1, 1.0 / 256) << values[i];
  }
  EXPECT_EQ(wire_bytes(WireFormat::bf16, 1003), 4u + 2006u);
}

TEST(Wire, WhatIsNotFiniteArrivesAsNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const WireFormat format : {WireFormat::f16, WireFormat::bf16}) {
    const std::vector<float> halves =
        through_wire(format, {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 2});
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(halves[static_cast<size_t>(i)])) << i;
    EXPECT_EQ(halves[3], 2);
  }
}

TEST(Wire, Adds) {
  for (const WireFormat format : {WireFormat::f32, WireFormat::f16, WireFormat::bf16}) {
    std::vector<float> values(3000, 0.25f);
    values[2999] = 8;
    std::vector<std::byte> message(wire_bytes(format, values.size()));
    encode(format, values, message.data());
    std::vector<float> sums(3000, 1);
    decode_and_add(format, message.data(), sums);
    EXPECT_EQ(sums[0], 1.25f);
    EXPECT_EQ(sums[2998], 1.25f);
    EXPECT_EQ(sums[2999], 9);
  }
}

}  // namespace
}  // namespace pando::comm

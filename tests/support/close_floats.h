// Numbers to compute with, and the comparison of results by one tolerance.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pando::test {

using Floats = std::vector<float>;

// Small multiples of 1/8 with distinct neighbours; exact enough that a wrong term stands out.
inline Floats test_values(size_t count, uint32_t seed) {
  Floats values(count);
  uint32_t state = seed;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(state >> 24) - 128) / 64.0f;
  }
  return values;
}

// Relative to the largest number that was wanted.
inline void expect_close(const Floats& got, const Floats& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  float scale = 1;
  for (const float value : want) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 2e-5f * scale) << what << " at " << i;
  }
}

}  // namespace pando::test

// Digits of decimal numbers, eight at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace pando::wire {

inline constexpr auto kPowersOfTen = [] {
  std::array<double, 23> powers = {};  // all of them are exact
  double power = 1;
  for (double& entry : powers) {
    entry = power;
    power *= 10;
  }
  return powers;
}();
inline constexpr uint64_t kExactInDouble = uint64_t{1} << 53;

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

inline uint64_t load8(const char* at) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, at, 8);
  return bytes;
}

inline bool are_eight_digits(uint64_t bytes) {
  return ((bytes & 0xF0F0F0F0F0F0F0F0) |
          (((bytes + 0x0606060606060606) & 0xF0F0F0F0F0F0F0F0) >> 4)) == 0x3333333333333333;
}

// The value of eight digits, with the first digit in the lowest byte. Combines pairs, then fours,
// then all eight.
inline uint32_t value_of_eight(uint64_t bytes) {
  bytes -= 0x3030303030303030;
  bytes = bytes * 10 + (bytes >> 8);
  constexpr uint64_t kMask = 0x000000FF000000FF;
  return static_cast<uint32_t>(
      ((bytes & kMask) * 0x000F424000000064 + ((bytes >> 16) & kMask) * 0x0000271000000001) >> 32);
}

// Rounds `value`, a decimal number of this mantissa that was computed with two roundings, to f32.
// Up to two units of the last place of the double are wrong, which matters only near the middle
// between two floats: then it returns false.
inline bool round_to_f32(double value, uint64_t mantissa, float& rounded) {
  constexpr uint64_t kBelowFloat = (uint64_t{1} << 29) - 1;
  constexpr uint64_t kMiddle = uint64_t{1} << 28;
  const uint64_t below = std::bit_cast<uint64_t>(value) & kBelowFloat;
  const bool is_normal = std::abs(value) >= std::numeric_limits<float>::min();
  rounded = static_cast<float>(value);
  return mantissa <= kExactInDouble || (is_normal && below - (kMiddle - 4) > 8);
}

}  // namespace pando::wire

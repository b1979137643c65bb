// Whole numbers as bytes, the least significant one first, on any processor.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pando {

// The number of at most eight bytes.
inline uint64_t load_little(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{bytes[i]} << (8 * i);
  return value;
}

// Appends the lowest `width` bytes of the value.
inline void append_little(std::vector<uint8_t>& to, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) to.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

}  // namespace pando

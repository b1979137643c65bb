// The checksum of TFRecord files: CRC-32 with Castagnoli's polynomial, and its masked form.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

namespace pando::data {

// The checksum of `bytes`; `before` is the checksum of the bytes in front of them. Uses the
// instruction of the processor if it has one.
uint32_t crc32c(std::span<const uint8_t> bytes, uint32_t before = 0);

// Computes the same with tables, for processors without the instruction.
uint32_t crc32c_by_table(std::span<const uint8_t> bytes, uint32_t before = 0);

// The form that record files store: a checksum of bytes that contain checksums would be weak, so it
// is rotated right by 15 bits and a constant is added.
inline uint32_t masked_crc32c(std::span<const uint8_t> bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace pando::data

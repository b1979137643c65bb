// SPDX-License-Identifier: MIT
#include "pando/data/tfrecord/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "pando/base/cpu.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace pando::data {

namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // 0x1edc6f41 with its bits reversed

// tables[k][b]: what byte b does to the state when k zero bytes follow it.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t state = byte;
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = state;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t state = tables[k - 1][byte];
      tables[k][byte] = (state >> 8) ^ tables[0][state & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

uint64_t load64(const uint8_t* bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

uint32_t extend_by_table(uint32_t state, std::span<const uint8_t> bytes) {
  while (bytes.size() >= 8) {
    const uint64_t word = load64(bytes.data()) ^ state;
    state = 0;
    for (size_t k = 0; k < 8; ++k) state ^= kTables[7 - k][(word >> (8 * k)) & 0xff];
    bytes = bytes.subspan(8);
  }
  for (const uint8_t byte : bytes) state = (state >> 8) ^ kTables[0][(state ^ byte) & 0xff];
  return state;
}

#if defined(__x86_64__)

// The instruction takes three cycles, but one can start in every cycle: three streams side by side,
// each of this many bytes, keep the unit busy.
constexpr size_t kStream = 1024;

// What kStream zero bytes do to each byte of the state.
using ZerosTables = std::array<std::array<uint32_t, 256>, 4>;

ZerosTables make_zeros_tables() {
  const std::array<uint8_t, kStream> zeros{};
  ZerosTables tables{};
  for (size_t k = 0; k < tables.size(); ++k) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      tables[k][byte] = extend_by_table(byte << (8 * k), zeros);
    }
  }
  return tables;
}

uint32_t append_zeros(const ZerosTables& tables, uint32_t state) {
  return tables[0][state & 0xff] ^ tables[1][(state >> 8) & 0xff] ^
         tables[2][(state >> 16) & 0xff] ^ tables[3][state >> 24];
}

__attribute__((target("sse4.2"))) uint32_t extend_by_instruction(uint32_t state,
                                                                 std::span<const uint8_t> bytes) {
  static const ZerosTables zeros = make_zeros_tables();
  uint64_t a = state;
  while (bytes.size() >= 3 * kStream) {
    uint64_t b = 0;
    uint64_t c = 0;
    const uint8_t* at = bytes.data();
    for (size_t i = 0; i < kStream; i += 8) {
      a = _mm_crc32_u64(a, load64(at + i));
      b = _mm_crc32_u64(b, load64(at + i + kStream));
      c = _mm_crc32_u64(c, load64(at + i + 2 * kStream));
    }
    a = append_zeros(zeros, static_cast<uint32_t>(a)) ^ b;
    a = append_zeros(zeros, static_cast<uint32_t>(a)) ^ c;
    bytes = bytes.subspan(3 * kStream);
  }
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) a = _mm_crc32_u64(a, load64(bytes.data()));
  auto narrow = static_cast<uint32_t>(a);
  for (const uint8_t byte : bytes) narrow = _mm_crc32_u8(narrow, byte);
  return narrow;
}

bool has_instruction() { return cpu_features().sse42; }

#else

uint32_t extend_by_instruction(uint32_t state, std::span<const uint8_t> bytes) {
  return extend_by_table(state, bytes);
}

bool has_instruction() { return false; }

#endif

}  // namespace

uint32_t crc32c(std::span<const uint8_t> bytes, uint32_t before) {
  return has_instruction() ? ~extend_by_instruction(~before, bytes)
                           : crc32c_by_table(bytes, before);
}

uint32_t crc32c_by_table(std::span<const uint8_t> bytes, uint32_t before) {
  return ~extend_by_table(~before, bytes);
}

}  // namespace pando::data

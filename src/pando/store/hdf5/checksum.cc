// SPDX-License-Identifier: MIT
#include "pando/store/hdf5/checksum.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace pando::store::hdf5 {

namespace {

struct Lookup3 {
  uint32_t a, b, c;

  void mix() {
    const auto step = [](uint32_t& x, uint32_t& y, uint32_t& z, int turn) {
      x = (x - z) ^ std::rotl(z, turn);
      z += y;
    };
    step(a, b, c, 4);
    step(b, c, a, 6);
    step(c, a, b, 8);
    step(a, b, c, 16);
    step(b, c, a, 19);
    step(c, a, b, 4);
  }
  void finish() {
    const auto step = [](uint32_t& x, uint32_t y, int turn) { x = (x ^ y) - std::rotl(y, turn); };
    step(c, b, 14);
    step(a, c, 11);
    step(b, a, 25);
    step(c, b, 16);
    step(a, c, 4);
    step(b, a, 14);
    step(c, b, 24);
  }
  // Up to 12 bytes; missing ones count as zero.
  void add(std::span<const uint8_t> bytes) {
    uint32_t words[3] = {0, 0, 0};
    for (size_t i = 0; i < bytes.size(); ++i) {
      words[i / 4] += static_cast<uint32_t>(bytes[i]) << (8 * (i % 4));
    }
    a += words[0];
    b += words[1];
    c += words[2];
  }
};

}  // namespace

uint32_t metadata_checksum(std::span<const uint8_t> bytes) {
  const uint32_t start = 0xdeadbeefu + static_cast<uint32_t>(bytes.size());
  Lookup3 state{start, start, start};
  if (bytes.empty()) return state.c;
  while (bytes.size() > 12) {
    state.add(bytes.first(12));
    state.mix();
    bytes = bytes.subspan(12);
  }
  state.add(bytes);
  state.finish();
  return state.c;
}

uint32_t fletcher32(std::span<const uint8_t> bytes) {
  constexpr size_t kSafePairs = 360;  // the sums of this many words do not overflow
  uint32_t low = 0;
  uint32_t high = 0;
  const auto fold = [](uint32_t sum) { return (sum & 0xffff) + (sum >> 16); };
  while (bytes.size() >= 2) {
    const size_t count = std::min(bytes.size() / 2, kSafePairs) * 2;
    for (size_t i = 0; i < count; i += 2) {
      low += static_cast<uint32_t>(bytes[i] << 8 | bytes[i + 1]);
      high += low;
    }
    low = fold(low);
    high = fold(high);
    bytes = bytes.subspan(count);
  }
  if (!bytes.empty()) {
    low = fold(low + static_cast<uint32_t>(bytes[0] << 8));
    high = fold(high + low);
  }
  return fold(high) << 16 | fold(low);
}

}  // namespace pando::store::hdf5

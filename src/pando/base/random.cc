// SPDX-License-Identifier: MIT
#include "pando/base/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "pando/base/multiversion.h"

namespace pando {

// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC11).
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, uint64_t key) {
  auto k0 = static_cast<uint32_t>(key);
  auto k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

uint64_t hash_name(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

uint64_t mix_keys(uint64_t a, uint64_t b) {
  uint64_t z = a + 0x9e3779b97f4a7c15 * (b + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

namespace {

constexpr size_t kBlockWords = 4;
constexpr size_t kBlocks = 16;  // at once

// The same as philox() for the counters first, first + 1, ..., block by block. Words are kept in 64
// bits, so that a product of two of them needs one instruction.
PANDO_MULTIVERSION void philox_blocks(uint64_t first, uint64_t key, uint32_t* words) {
  constexpr uint64_t kLow = 0xffffffff;
  uint64_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
  for (size_t i = 0; i < kBlocks; ++i) {
    c0[i] = (first + i) & kLow;
    c1[i] = (first + i) >> 32;
    c2[i] = 0;
    c3[i] = 0;
  }
  uint64_t k0 = key & kLow;
  uint64_t k1 = key >> 32;
  for (int round = 0; round < 10; ++round) {
    for (size_t i = 0; i < kBlocks; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53} * (c0[i] & kLow);
      const uint64_t p1 = uint64_t{0xCD9E8D57} * (c2[i] & kLow);
      c0[i] = (p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = p1 & kLow;
      c2[i] = (p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = p0 & kLow;
    }
    k0 = (k0 + 0x9E3779B9) & kLow;
    k1 = (k1 + 0xBB67AE85) & kLow;
  }
  for (size_t i = 0; i < kBlocks; ++i) {
    words[i * kBlockWords] = static_cast<uint32_t>(c0[i]);
    words[i * kBlockWords + 1] = static_cast<uint32_t>(c1[i]);
    words[i * kBlockWords + 2] = static_cast<uint32_t>(c2[i]);
    words[i * kBlockWords + 3] = static_cast<uint32_t>(c3[i]);
  }
}

}  // namespace

void RandomStream::refill() {
  used_ = 0;
  if (block_ == 0) {
    const std::array<uint32_t, 4> first = philox({}, key_);
    std::copy(first.begin(), first.end(), words_.begin());
    filled_ = kBlockWords;
    block_ = 1;
    return;
  }
  static_assert(kBlocks * kBlockWords == std::tuple_size_v<decltype(words_)>);
  philox_blocks(block_, key_, words_.data());
  filled_ = words_.size();
  block_ += kBlocks;
}

float RandomStream::next_normal() {
  const float u = 1.0f - next_uniform();  // (0, 1]
  const float v = next_uniform();
  return std::sqrt(-2.0f * std::log(u)) * std::cos(2.0f * std::numbers::pi_v<float> * v);
}

float RandomStream::next_truncated_normal() {
  float value = next_normal();
  while (std::abs(value) > 2.0f) value = next_normal();
  return value;
}

uint64_t RandomStream::next_below(uint64_t bound) {
  const uint64_t reject_below = (0 - bound) % bound;
  while (true) {
    const uint64_t high = next_word();
    const uint64_t value = (high << 32) | next_word();
    if (value >= reject_below) return value % bound;
  }
}

std::vector<int64_t> random_permutation(int64_t count, uint64_t key) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  RandomStream random(key);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.next_below(i)]);
  }
  return order;
}

}  // namespace pando

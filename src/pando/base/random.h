// A counter-based random generator (Philox 4x32-10): the value is a pure function of a key and a
// counter, so masks, initial weights and shuffles do not depend on the order of the calls.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pando {

// Four 32-bit words for one 128-bit counter under one 64-bit key.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, uint64_t key);

// A stable 64-bit hash of a name (FNV-1a), to make keys from layer names.
uint64_t hash_name(std::string_view name);

// Mixes two words into one key (splitmix64).
uint64_t mix_keys(uint64_t a, uint64_t b);

// A number in [0, 1) with 24 random bits.
inline float to_unit_float(uint32_t word) { return static_cast<float>(word >> 8) * 0x1.0p-24f; }

// A sequence of numbers under one key, for host-side work such as initialisers and shuffles.
// Not thread-safe; make one per use.
class RandomStream {
 public:
  explicit RandomStream(uint64_t key) : key_(key) {}
  uint32_t next_word() {
    if (used_ == filled_) refill();
    return words_[used_++];
  }
  float next_uniform() { return to_unit_float(next_word()); }  // [0, 1)
  float next_normal();                                         // mean 0, standard deviation 1
  // A normal number, drawn again until it lies within two standard deviations.
  float next_truncated_normal();
  uint64_t next_below(uint64_t bound);  // [0, bound) without bias

 private:
  void refill();

  uint64_t key_;
  uint64_t block_ = 0;
  // Words that are made ahead: one block at first, because many streams are short, then many at
  // once, which is several times as fast.
  size_t used_ = 0;
  size_t filled_ = 0;
  std::array<uint32_t, 64> words_ = {};
};

// 0..count-1 in an order that is a pure function of the key (Fisher-Yates).
std::vector<int64_t> random_permutation(int64_t count, uint64_t key);

}  // namespace pando

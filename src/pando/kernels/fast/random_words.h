// Random words of the counter-based generator (base/random.h), for a block of counters at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "pando/base/multiversion.h"

namespace pando::kernels::fast {

inline constexpr int kCounters = 32;  // more than the compiler unrolls instead of vectorising

// The four words of each counter, word by word.
struct CounterWords {
  uint32_t word[4][kCounters];
};

// Philox 4x32-10 for `kCounters` successive first counter words of one sample.
PANDO_INLINE void random_words(uint32_t first, uint64_t sample, uint64_t key, CounterWords& words) {
  auto& [c0, c1, c2, c3] = words.word;
  for (int i = 0; i < kCounters; ++i) {
    c0[i] = first + static_cast<uint32_t>(i);
    c1[i] = static_cast<uint32_t>(sample);
    c2[i] = static_cast<uint32_t>(sample >> 32);
    c3[i] = 0;
  }
  auto k0 = static_cast<uint32_t>(key);
  auto k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kCounters; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53} * c0[i];
      const uint64_t p1 = uint64_t{0xCD9E8D57} * c2[i];
      c0[i] = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<uint32_t>(p1);
      c2[i] = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<uint32_t>(p0);
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
}

// A number in [0, 1), the same as to_unit_float, but through a signed number, which vectors can
// convert.
PANDO_INLINE float unit_float(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 8)) * 0x1.0p-24f;
}

}  // namespace pando::kernels::fast

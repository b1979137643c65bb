// The loops of half_isa.h over the vectors of one instruction set, which the including source
// describes by a type Isa in an unnamed namespace: V, kLanes 32-bit numbers with the operators of
// uint32_t, and the few functions that are used here. Arithmetic is on the bits of the floats: it
// raises no exception of the processor, and whether denormals are flushed does not matter.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/tensor/half_isa.h"

namespace pando {

template <typename Isa>
struct HalfBlocks {
  using V = typename Isa::V;
  static constexpr int kWordVectors = static_cast<int>(kBlockWords) / Isa::kLanes;
  static constexpr int kVectors = 2 * kWordVectors;

  static constexpr uint32_t kSign = 0x80000000;
  static constexpr uint32_t kF16Overflow = 0x477ff000;        // 65520
  static constexpr uint32_t kF16SmallestNormal = 0x38800000;  // 2^-14
  static constexpr uint32_t kBf16Overflow = 0x7f7f8000;

  // False where a magnitude reaches `overflow`.
  static bool load(const float* from, uint32_t overflow, V (&x)[kVectors]) {
    V largest = Isa::all(0);
    for (int v = 0; v < kVectors; ++v) {
      x[v] = Isa::load(from + v * Isa::kLanes);
      largest = Isa::larger(largest, x[v] & ~kSign);
    }
    return !Isa::any_at_least(largest, overflow);
  }

  static V mixed(V bits, uint32_t key) {
    bits = (bits ^ (bits >> 16)) * 0x7feb352dU;
    bits = bits ^ key;
    bits = (bits ^ (bits >> 15)) * 0x846ca68bU;
    return bits ^ (bits >> 16);
  }

  // The number with 16 bits behind those that a half keeps, and noise in these; the half is the
  // upper part of the result.
  static V noisy_f16(V x, V noise) {
    const V magnitude = x & ~kSign;
    const V normal = (magnitude << 3) + 0x40000000;  // the exponent's bias becomes 15
    const V small = Isa::small_units(Isa::smaller(magnitude, Isa::all(kF16SmallestNormal - 1)));
    const V exact = Isa::where_below(magnitude, kF16SmallestNormal, small, normal);
    return Isa::smaller(exact + noise, Isa::all(0x7bffffff)) | (x & kSign);
  }
  static V noisy_bf16(V x, V noise) {
    return Isa::smaller((x & ~kSign) + noise, Isa::all(0x7f7fffff)) | (x & kSign);
  }

  template <uint32_t kOverflow, V (*noisy)(V, V)>
  static int64_t stochastic(const float* from, uint16_t* to, int64_t blocks, NoiseStart noise) {
    V counter = Isa::ascending() * kNoiseStep + noise.counter;
    for (int64_t b = 0; b < blocks; ++b, from += kHalfBlock, to += kHalfBlock) {
      V x[kVectors];
      if (!load(from, kOverflow, x)) return b;
      for (int w = 0; w < kWordVectors; ++w) {
        const V bits = mixed(counter, noise.key);
        counter = counter + Isa::kLanes * kNoiseStep;
        x[w] = noisy(x[w], bits & 0xffff);
        x[kWordVectors + w] = noisy(x[kWordVectors + w], bits >> 16);
      }
      for (int v = 0; v < kVectors; v += 2) Isa::store_upper(x[v], x[v + 1], to + v * Isa::kLanes);
    }
    return blocks;
  }

  static int64_t nearest_f16(const float* from, uint16_t* to, int64_t blocks, NoiseStart) {
    for (int64_t b = 0; b < blocks; ++b, from += kHalfBlock, to += kHalfBlock) {
      V x[kVectors];
      if (!load(from, kF16Overflow, x)) return b;
      for (int v = 0; v < kVectors; ++v) Isa::store_f16(x[v], to + v * Isa::kLanes);
    }
    return blocks;
  }

  static int64_t nearest_bf16(const float* from, uint16_t* to, int64_t blocks, NoiseStart) {
    for (int64_t b = 0; b < blocks; ++b, from += kHalfBlock, to += kHalfBlock) {
      V x[kVectors];
      if (!load(from, kBf16Overflow, x)) return b;
      for (int v = 0; v < kVectors; ++v) x[v] = x[v] + 0x7fff + ((x[v] >> 16) & 1);
      for (int v = 0; v < kVectors; v += 2) Isa::store_upper(x[v], x[v + 1], to + v * Isa::kLanes);
    }
    return blocks;
  }

  static void widen_f16(const uint16_t* from, float* to, int64_t blocks) {
    for (int64_t i = 0; i < blocks * kHalfBlock; i += Isa::kLanes) Isa::widen_f16(from + i, to + i);
  }
  static void widen_bf16(const uint16_t* from, float* to, int64_t blocks) {
    for (int64_t i = 0; i < blocks * kHalfBlock; i += Isa::kLanes) {
      Isa::store(Isa::load_halves(from + i) << 16, to + i);
    }
  }

  static constexpr HalfIsa table(const char* name) {
    return {.name = name,
            .nearest_f16 = nearest_f16,
            .nearest_bf16 = nearest_bf16,
            .stochastic_f16 = stochastic<kF16Overflow, noisy_f16>,
            .stochastic_bf16 = stochastic<kBf16Overflow, noisy_bf16>,
            .widen_f16 = widen_f16,
            .widen_bf16 = widen_bf16};
  }
};

}  // namespace pando

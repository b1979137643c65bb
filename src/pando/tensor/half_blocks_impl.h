// The loops of half_isa.h over the vectors of one instruction set, which the including source
// describes by a type Isa in an unnamed namespace: V, kLanes 32-bit numbers with the operators of
// uint32_t, and the few functions that are used here. Arithmetic is on the bits of the floats: it
// raises no floating-point exceptions and does not depend on whether denormals are flushed.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/tensor/half_isa.h"

namespace pando {

template <typename Isa>
struct HalfBlocks {
  using V = typename Isa::V;
  static constexpr int kWordVectors = static_cast<int>(kBlockWords) / Isa::kLanes;
  static constexpr int kVectors = 2 * kWordVectors;

  // Bits of the largest numbers.
  static constexpr uint32_t kF16Largest = 0x477fe000;
  static constexpr uint32_t kBf16Largest = 0x7f7f0000;

  // Returns false if a magnitude is beyond the largest number of the type. Noise that is added to
  // the bits of smaller magnitudes never reaches infinity.
  static bool load(const float* from, uint32_t largest, V (&x)[kVectors]) {
    for (int v = 0; v < kVectors; ++v) x[v] = Isa::load(from + v * Isa::kLanes);
    V most = x[0] & 0x7fffffff;
    for (int v = 1; v < kVectors; ++v) most = Isa::larger(most, x[v] & 0x7fffffff);
    return !Isa::any_above(most, largest);
  }

  static V mixed(V bits, uint32_t key) {
    bits = (bits ^ (bits >> 16)) * 0x7feb352dU;
    bits = bits ^ key;
    bits = (bits ^ (bits >> 15)) * 0x846ca68bU;
    return bits ^ (bits >> 16);
  }

  static int64_t stochastic_f16(const float* from, uint16_t* to, int64_t blocks, NoiseStart noise) {
    V counter = Isa::ascending() * kNoiseStep + noise.counter;
    for (int64_t b = 0; b < blocks; ++b, from += kHalfBlock, to += kHalfBlock) {
      V x[kVectors];
      if (!load(from, kF16Largest, x)) return b;
      for (int w = 0; w < kWordVectors; ++w) {
        const V bits = mixed(counter, noise.key);
        counter = counter + Isa::kLanes * kNoiseStep;
        uint16_t* place = to + w * Isa::kLanes;
        Isa::store_noisy_f16(x[w], (bits << 16) >> 19, place);
        Isa::store_noisy_f16(x[kWordVectors + w], bits >> 19, place + kBlockWords);
      }
    }
    return blocks;
  }

  static int64_t stochastic_bf16(const float* from, uint16_t* to, int64_t blocks,
                                 NoiseStart noise) {
    V counter = Isa::ascending() * kNoiseStep + noise.counter;
    for (int64_t b = 0; b < blocks; ++b, from += kHalfBlock, to += kHalfBlock) {
      V x[kVectors];
      if (!load(from, kBf16Largest, x)) return b;
      for (int w = 0; w < kWordVectors; ++w) {
        const V bits = mixed(counter, noise.key);
        counter = counter + Isa::kLanes * kNoiseStep;
        x[w] = x[w] + (bits & 0xffff);
        x[kWordVectors + w] = x[kWordVectors + w] + (bits >> 16);
      }
      for (int v = 0; v < kVectors; v += 2) Isa::store_upper(x[v], x[v + 1], to + v * Isa::kLanes);
    }
    return blocks;
  }

  static int64_t nearest_f16(const float* from, uint16_t* to, int64_t blocks, NoiseStart) {
    for (int64_t b = 0; b < blocks; ++b, from += kHalfBlock, to += kHalfBlock) {
      V x[kVectors];
      if (!load(from, kF16Largest, x)) return b;
      for (int v = 0; v < kVectors; ++v) Isa::store_f16(x[v], to + v * Isa::kLanes);
    }
    return blocks;
  }

  static int64_t nearest_bf16(const float* from, uint16_t* to, int64_t blocks, NoiseStart) {
    for (int64_t b = 0; b < blocks; ++b, from += kHalfBlock, to += kHalfBlock) {
      V x[kVectors];
      if (!load(from, kBf16Largest, x)) return b;
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
            .stochastic_f16 = stochastic_f16,
            .stochastic_bf16 = stochastic_bf16,
            .widen_f16 = widen_f16,
            .widen_bf16 = widen_bf16};
  }
};

}  // namespace pando

// Conversions of whole blocks between f32 and the 16-bit types, once per instruction set. Other
// code uses half_rounding.h.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "pando/tensor/half_rounding.h"

namespace pando {

// Elements of a block. They share 16 words of noise: elements 0..15 use the low halves of the
// words, elements 16..31 the high halves, so that no vector width has to move bits between lanes.
inline constexpr int64_t kHalfBlock = 32;
inline constexpr int64_t kBlockWords = kHalfBlock / 2;

// Word w of a key is mixed from the low half of the key plus w times the step, and the high half.
inline constexpr uint32_t kNoiseStep = 0x9e3779b9;
struct NoiseStart {
  uint32_t counter = 0;
  uint32_t key = 0;
};

struct HalfIsa {
  // Stops before the first block that contains NaN or a magnitude beyond the largest number;
  // returns the number of blocks done.
  using Round = int64_t (*)(const float* from, uint16_t* to, int64_t blocks, NoiseStart noise);
  using Widen = void (*)(const uint16_t* from, float* to, int64_t blocks);

  const char* name;
  Round nearest_f16;
  Round nearest_bf16;
  Round stochastic_f16;
  Round stochastic_bf16;
  Widen widen_f16;
  Widen widen_bf16;
};

// Null if this build has no code for the instruction set. Does not check whether this processor
// supports it.
const HalfIsa* plain_halves();
const HalfIsa* avx2_halves();
const HalfIsa* avx512_halves();

// The instruction sets that this processor supports, the best first.
std::span<const HalfIsa* const> half_isas();
// The best one, or the one that PANDO_ISA names.
const HalfIsa& chosen_half_isa();

void round_halves(const HalfIsa& isa, DType type, std::span<const float> from, uint16_t* to,
                  const HalfRounding& rounding);
void widen_halves(const HalfIsa& isa, DType type, std::span<const uint16_t> from, float* to);

}  // namespace pando

// SPDX-License-Identifier: MIT
#include "pando/tensor/half_rounding.h"

#include <bit>
#include <cfenv>
#include <cmath>

#include "pando/tensor/half.h"

namespace pando {

namespace {

// What a 16-bit type keeps of the bits of an f32.
struct HalfFormat {
  uint32_t overflow;  // bits of the smallest magnitude that is beyond the largest number
  uint16_t largest;
  uint16_t nan;
};
constexpr HalfFormat kF16 = {0x477ff000, 0x7bff, 0x7e00};
constexpr HalfFormat kBf16 = {0x7f7f8000, 0x7f7f, 0x7fc0};

constexpr uint32_t kSmallestNormalF16 = 0x38800000;  // bits of 2^-14

// Of a magnitude below the overflow.
uint16_t stochastic_f16(uint32_t magnitude, uint32_t noise) {
  if (magnitude < kSmallestNormalF16) {
    const float units = std::bit_cast<float>(magnitude) * 0x1p24f;
    return static_cast<uint16_t>(units + static_cast<float>(noise) * 0x1p-16f);
  }
  const uint32_t rounded = (magnitude - 0x38000000 + (noise >> 3)) >> 13;
  return static_cast<uint16_t>(rounded < kF16.largest ? rounded : kF16.largest);
}

uint16_t stochastic_bf16(uint32_t magnitude, uint32_t noise) {
  const uint32_t rounded = (magnitude + noise) >> 16;
  return static_cast<uint16_t>(rounded < kBf16.largest ? rounded : kBf16.largest);
}

}  // namespace

uint32_t rounding_noise(uint64_t key, uint64_t number) {
  const uint64_t word = number >> 1;
  uint32_t bits = static_cast<uint32_t>(word) * 0x9e3779b9U + static_cast<uint32_t>(key);
  bits ^= static_cast<uint32_t>(word >> 32) * 0x85ebca6bU;
  bits ^= bits >> 16;
  bits *= 0x7feb352dU;
  bits ^= static_cast<uint32_t>(key >> 32);
  bits ^= bits >> 15;
  bits *= 0x846ca68bU;
  bits ^= bits >> 16;
  return (number & 1) != 0 ? bits >> 16 : bits & 0xffff;
}

uint16_t round_half(DType type, float value, const HalfRounding& rounding, uint64_t number) {
  const bool bf16 = type == DType::bf16;
  const HalfFormat& format = bf16 ? kBf16 : kF16;
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | format.nan;
  if (magnitude >= format.overflow) {
    return sign | (rounding.nan_on_overflow ? format.nan : format.largest);
  }
  if (!rounding.stochastic) return bf16 ? to_bf16(value) : to_f16(value);
  const uint32_t noise = rounding_noise(rounding.key, number);
  return sign | (bf16 ? stochastic_bf16(magnitude, noise) : stochastic_f16(magnitude, noise));
}

void round_halves(DType type, const float* from, uint16_t* to, int64_t count,
                  const HalfRounding& rounding) {
  const float limit = std::bit_cast<float>(type == DType::bf16 ? kBf16.overflow : kF16.overflow);
  bool overflow = false;
  for (int64_t i = 0; i < count; ++i) {
    to[i] = round_half(type, from[i], rounding, rounding.first + static_cast<uint64_t>(i));
    overflow = overflow || std::fabs(from[i]) >= limit;
  }
  if (overflow) std::feraiseexcept(FE_OVERFLOW);
}

void widen_halves(DType type, const uint16_t* from, float* to, int64_t count) {
  const auto widen = type == DType::bf16 ? from_bf16 : from_f16;
  for (int64_t i = 0; i < count; ++i) to[i] = widen(from[i]);
}

}  // namespace pando

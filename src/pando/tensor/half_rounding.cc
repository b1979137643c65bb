// SPDX-License-Identifier: MIT
#include "pando/tensor/half_rounding.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "pando/base/random.h"
#include "pando/tensor/half.h"
#include "pando/tensor/half_isa.h"

namespace pando {

namespace {

constexpr uint32_t kInfinity = 0x7f800000;
constexpr uint32_t kSmallestNormalF16 = 0x38800000;  // bits of 2^-14

// The limits of a 16-bit type.
struct HalfFormat {
  uint32_t overflow;  // f32 bits of the smallest magnitude that overflows
  uint32_t largest;   // f32 bits of the largest number
  uint16_t largest_half;
  uint16_t nan;
};
constexpr HalfFormat kF16 = {0x477ff000, 0x477fe000, 0x7bff, 0x7e00};
constexpr HalfFormat kBf16 = {0x7f7f8000, 0x7f7f0000, 0x7f7f, 0x7fc0};

const HalfFormat& format_of(DType type) { return type == DType::bf16 ? kBf16 : kF16; }

uint32_t magnitude_of(float value) { return std::bit_cast<uint32_t>(value) & 0x7fffffff; }
uint16_t sign_of(float value) {
  return static_cast<uint16_t>((std::bit_cast<uint32_t>(value) >> 16) & 0x8000);
}

// The magnitude as a half followed by 13 more bits. This is exact, except for numbers below 2^-14,
// which adding 2^-14 rounds to these bits.
uint32_t exact_f16(uint32_t magnitude) {
  if (magnitude >= kSmallestNormalF16) return magnitude - 0x38000000;
  const float raised = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kSmallestNormalF16);
  return std::bit_cast<uint32_t>(raised) - kSmallestNormalF16;
}

// Callers' keys may differ in a single bit; mixed keys differ in many.
uint64_t noise_key(uint64_t key) { return mix_keys(key, 0); }

// `volatile` keeps the compiler from computing the product in advance. std::feraiseexcept would set
// the flag of the x87 unit instead.
void raise_overflow() {
  volatile float largest = std::numeric_limits<float>::max();
  largest = largest * largest;
}

// Rounds a run of whole blocks, including blocks with NaN or too large numbers.
class BlockRounder {
 public:
  BlockRounder(const HalfIsa& isa, DType type, const HalfRounding& rounding)
      : format_(format_of(type)),
        nan_on_overflow_(rounding.nan_on_overflow),
        key_(noise_key(rounding.key)) {
    if (rounding.stochastic) {
      round_ = type == DType::bf16 ? isa.stochastic_bf16 : isa.stochastic_f16;
    } else {
      round_ = type == DType::bf16 ? isa.nearest_bf16 : isa.nearest_f16;
    }
  }

  // The first element of the run takes noise number `number`, which begins a block.
  void run(const float* from, uint16_t* to, int64_t blocks, uint64_t number) {
    while (true) {
      const int64_t done = round_(from, to, blocks, noise_at(number));
      if (done == blocks) return;
      from += done * kHalfBlock;
      to += done * kHalfBlock;
      number += static_cast<uint64_t>(done * kHalfBlock);
      odd_block(from, to, number);
      from += kHalfBlock;
      to += kHalfBlock;
      number += kHalfBlock;
      blocks -= done + 1;
    }
  }

  // Rounds `count` elements that start at position `at` of a block.
  void run_part(const float* from, uint16_t* to, int64_t at, int64_t count, uint64_t number) {
    float numbers[kHalfBlock] = {};
    uint16_t halves[kHalfBlock];
    std::copy_n(from, count, numbers + at);
    run(numbers, halves, 1, number);
    std::copy_n(halves + at, count, to);
  }

  bool overflowed() const { return overflowed_; }

 private:
  NoiseStart noise_at(uint64_t number) const {
    const auto word = static_cast<uint32_t>(number / 2);
    return {.counter = word * kNoiseStep + static_cast<uint32_t>(key_),
            .key = static_cast<uint32_t>(key_ >> 32)};
  }

  // Rounds a block with NaN or too large numbers: replaces them by numbers that the fast code
  // accepts.
  void odd_block(const float* from, uint16_t* to, uint64_t number) {
    float numbers[kHalfBlock];
    bool nan[kHalfBlock];
    for (int64_t i = 0; i < kHalfBlock; ++i) {
      const uint32_t magnitude = magnitude_of(from[i]);
      const bool overflows = magnitude >= format_.overflow && magnitude <= kInfinity;
      overflowed_ = overflowed_ || overflows;
      nan[i] = magnitude > kInfinity || (overflows && nan_on_overflow_);
      const uint32_t sign = static_cast<uint32_t>(sign_of(from[i])) << 16;
      numbers[i] = std::bit_cast<float>(sign | std::min(magnitude, format_.largest));
    }
    round_(numbers, to, 1, noise_at(number));
    for (int64_t i = 0; i < kHalfBlock; ++i) {
      if (nan[i]) to[i] = sign_of(from[i]) | format_.nan;
    }
  }

  const HalfFormat& format_;
  bool nan_on_overflow_;
  uint64_t key_;
  HalfIsa::Round round_;
  bool overflowed_ = false;
};

}  // namespace

uint32_t rounding_noise(uint64_t key, uint64_t number) {
  const uint64_t word = number / kHalfBlock * kBlockWords + number % kBlockWords;
  const uint64_t mixed = noise_key(key);
  uint32_t bits = static_cast<uint32_t>(word) * kNoiseStep + static_cast<uint32_t>(mixed);
  bits ^= bits >> 16;
  bits *= 0x7feb352dU;
  bits ^= static_cast<uint32_t>(mixed >> 32);
  bits ^= bits >> 15;
  bits *= 0x846ca68bU;
  bits ^= bits >> 16;
  return number % kHalfBlock < kBlockWords ? bits & 0xffff : bits >> 16;
}

uint16_t round_half(DType type, float value, const HalfRounding& rounding, uint64_t number) {
  const bool bf16 = type == DType::bf16;
  const HalfFormat& format = format_of(type);
  const uint16_t sign = sign_of(value);
  const uint32_t magnitude = magnitude_of(value);
  if (magnitude > kInfinity) return sign | format.nan;
  if (magnitude >= format.overflow) {
    return sign | (rounding.nan_on_overflow ? format.nan : format.largest_half);
  }
  if (!rounding.stochastic) return bf16 ? to_bf16(value) : to_f16(value);
  const uint32_t noise = rounding_noise(rounding.key, number);
  const uint32_t rounded =
      bf16 ? (magnitude + noise) >> 16 : (exact_f16(magnitude) + (noise >> 3)) >> 13;
  return static_cast<uint16_t>(sign | std::min<uint32_t>(rounded, format.largest_half));
}

void round_halves(const HalfIsa& isa, DType type, std::span<const float> from, uint16_t* to,
                  const HalfRounding& rounding) {
  BlockRounder rounder(isa, type, rounding);
  const float* next = from.data();
  auto left = static_cast<int64_t>(from.size());
  uint64_t number = rounding.stochastic ? rounding.first : 0;
  if (const auto at = static_cast<int64_t>(number % kHalfBlock); at != 0) {
    const int64_t count = std::min(left, kHalfBlock - at);
    rounder.run_part(next, to, at, count, number - static_cast<uint64_t>(at));
    next += count;
    to += count;
    left -= count;
    number += static_cast<uint64_t>(count);
  }
  const int64_t whole = left / kHalfBlock * kHalfBlock;
  rounder.run(next, to, whole / kHalfBlock, number);
  if (whole < left) {
    rounder.run_part(next + whole, to + whole, 0, left - whole,
                     number + static_cast<uint64_t>(whole));
  }
  if (rounder.overflowed()) raise_overflow();
}

void widen_halves(const HalfIsa& isa, DType type, std::span<const uint16_t> from, float* to) {
  const HalfIsa::Widen widen = type == DType::bf16 ? isa.widen_bf16 : isa.widen_f16;
  const auto count = static_cast<int64_t>(from.size());
  const int64_t whole = count / kHalfBlock * kHalfBlock;
  widen(from.data(), to, whole / kHalfBlock);
  if (whole == count) return;
  uint16_t halves[kHalfBlock] = {};
  float numbers[kHalfBlock];
  std::copy(from.begin() + whole, from.end(), halves);
  widen(halves, numbers, 1);
  std::copy_n(numbers, count - whole, to + whole);
}

void round_halves(DType type, const float* from, uint16_t* to, int64_t count,
                  const HalfRounding& rounding) {
  round_halves(chosen_half_isa(), type, {from, static_cast<size_t>(count)}, to, rounding);
}

void widen_halves(DType type, const uint16_t* from, float* to, int64_t count) {
  widen_halves(chosen_half_isa(), type, {from, static_cast<size_t>(count)}, to);
}

}  // namespace pando

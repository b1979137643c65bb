// SPDX-License-Identifier: MIT
#include "pando/comm/wire.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "pando/base/multiversion.h"
#include "pando/tensor/half_rounding.h"

namespace pando::comm {

namespace {

// A message of 16-bit numbers begins with the factor by which they are to be multiplied.
constexpr size_t kHeader = sizeof(float);
// The largest number of a message is scaled to at most this: sums of a few stay below 65504.
constexpr float kLargest = 16384;
constexpr size_t kBlock = 1024;  // numbers that stay in the first-level cache

DType type_of(WireFormat format) { return format == WireFormat::bf16 ? DType::bf16 : DType::f16; }

PANDO_MULTIVERSION float largest_of(const float* values, size_t count) {
  float largest = 0;
  for (size_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(values[i]));
  return largest;
}

PANDO_MULTIVERSION void add(float* __restrict sums, const float* __restrict values, size_t count) {
  for (size_t i = 0; i < count; ++i) sums[i] += values[i];
}

PANDO_MULTIVERSION void add_multiple(float* __restrict sums, const float* __restrict values,
                                     float factor, size_t count) {
  for (size_t i = 0; i < count; ++i) sums[i] += values[i] * factor;
}

// A power of two, so that scaling does not round; 1 if the largest number is not finite.
float scale_for(std::span<const float> values) {
  const float largest = largest_of(values.data(), values.size());
  if (!(largest > 0) || !std::isfinite(largest)) return 1;
  int exponent = 0;
  std::frexp(kLargest / largest, &exponent);
  return std::ldexp(1.0f, std::clamp(exponent - 1, -100, 100));
}

PANDO_MULTIVERSION void multiply(const float* from, float factor, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = from[i] * factor;
}

float factor_of(const std::byte* message) {
  float factor = 1;
  std::memcpy(&factor, message, sizeof(factor));
  return factor;
}

const uint16_t* halves(const std::byte* message) {
  return reinterpret_cast<const uint16_t*>(message + kHeader);
}

}  // namespace

size_t wire_bytes(WireFormat format, size_t count) {
  if (count == 0) return 0;
  return format == WireFormat::f32 ? count * sizeof(float) : kHeader + count * sizeof(uint16_t);
}

void encode(WireFormat format, std::span<const float> values, std::byte* to) {
  if (values.empty()) return;
  if (format == WireFormat::f32) {
    std::memcpy(to, values.data(), values.size_bytes());
    return;
  }
  const float scale = format == WireFormat::f16 ? scale_for(values) : 1;
  const float factor = 1 / scale;
  std::memcpy(to, &factor, sizeof(factor));
  auto* out = reinterpret_cast<uint16_t*>(to + kHeader);
  float block[kBlock];
  for (size_t at = 0; at < values.size(); at += kBlock) {
    const size_t count = std::min(kBlock, values.size() - at);
    multiply(values.data() + at, scale, block, count);
    round_halves(type_of(format), block, out + at, static_cast<int64_t>(count),
                 {.nan_on_overflow = true});
  }
}

void decode(WireFormat format, const std::byte* from, std::span<float> values) {
  if (values.empty()) return;
  if (format == WireFormat::f32) {
    std::memcpy(values.data(), from, values.size_bytes());
    return;
  }
  const float factor = factor_of(from);
  widen_halves(type_of(format), halves(from), values.data(), static_cast<int64_t>(values.size()));
  if (factor != 1) multiply(values.data(), factor, values.data(), values.size());
}

void decode_and_add(WireFormat format, const std::byte* from, std::span<float> sums) {
  if (sums.empty()) return;
  if (format == WireFormat::f32) {
    return add(sums.data(), reinterpret_cast<const float*>(from), sums.size());
  }
  const float factor = factor_of(from);
  float block[kBlock];
  for (size_t at = 0; at < sums.size(); at += kBlock) {
    const size_t count = std::min(kBlock, sums.size() - at);
    widen_halves(type_of(format), halves(from) + at, block, static_cast<int64_t>(count));
    add_multiple(sums.data() + at, block, factor, count);
  }
}

}  // namespace pando::comm

// SPDX-License-Identifier: MIT
#include "pando/comm/wire.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "pando/base/multiversion.h"
#include "pando/tensor/half.h"

namespace pando::comm {

namespace {

// A message of 16-bit numbers begins with what they are to be multiplied with.
constexpr size_t kHeader = sizeof(float);
// The largest number of a message becomes at most this: sums of a few stay below 65504.
constexpr float kLargest = 16384;

PANDO_MULTIVERSION float largest_of(const float* values, size_t count) {
  float largest = 0;
  for (size_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(values[i]));
  return largest;
}

PANDO_MULTIVERSION void add(float* __restrict sums, const float* __restrict values, size_t count) {
  for (size_t i = 0; i < count; ++i) sums[i] += values[i];
}

// A power of two, so that scaling rounds nothing. What is not finite is left alone.
float scale_for(std::span<const float> values) {
  const float largest = largest_of(values.data(), values.size());
  if (!(largest > 0) || !std::isfinite(largest)) return 1;
  int exponent = 0;
  std::frexp(kLargest / largest, &exponent);
  return std::ldexp(1.0f, std::clamp(exponent - 1, -100, 100));
}

void to_half(const float* values, size_t count, float scale, uint16_t* to) {
  for (size_t i = 0; i < count; ++i) to[i] = to_f16(values[i] * scale);
}

void from_half(const uint16_t* from, size_t count, float factor, float* values) {
  for (size_t i = 0; i < count; ++i) values[i] = from_f16(from[i]) * factor;
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) void to_half_f16c(const float* values, size_t count,
                                                      float scale, uint16_t* to) {
  const size_t whole = count / 8 * 8;
  const __m256 factor = _mm256_set1_ps(scale);
  for (size_t i = 0; i < whole; i += 8) {
    const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(values + i), factor);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(scaled, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  to_half(values + whole, count - whole, scale, to + whole);
}

__attribute__((target("avx,f16c"))) void from_half_f16c(const uint16_t* from, size_t count,
                                                        float factor, float* values) {
  const size_t whole = count / 8 * 8;
  const __m256 factors = _mm256_set1_ps(factor);
  for (size_t i = 0; i < whole; i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(values + i, _mm256_mul_ps(_mm256_cvtph_ps(bits), factors));
  }
  from_half(from + whole, count - whole, factor, values + whole);
}

// Every processor with AVX2 has it, and clang does not know its name.
bool has_f16c() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#else
bool has_f16c() { return false; }
void to_half_f16c(const float*, size_t, float, uint16_t*) {}
void from_half_f16c(const uint16_t*, size_t, float, float*) {}
#endif

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
  const float scale = scale_for(values);
  const float factor = 1 / scale;
  std::memcpy(to, &factor, sizeof(factor));
  (has_f16c() ? to_half_f16c : to_half)(values.data(), values.size(), scale,
                                        reinterpret_cast<uint16_t*>(to + kHeader));
}

void decode(WireFormat format, const std::byte* from, std::span<float> values) {
  if (values.empty()) return;
  if (format == WireFormat::f32) {
    std::memcpy(values.data(), from, values.size_bytes());
    return;
  }
  float factor = 1;
  std::memcpy(&factor, from, sizeof(factor));
  (has_f16c() ? from_half_f16c : from_half)(halves(from), values.size(), factor, values.data());
}

void decode_and_add(WireFormat format, const std::byte* from, std::span<float> sums) {
  if (format == WireFormat::f32) {
    return add(sums.data(), reinterpret_cast<const float*>(from), sums.size());
  }
  constexpr size_t kBlock = 1024;  // stays in the first-level cache
  float factor = 1;
  if (!sums.empty()) std::memcpy(&factor, from, sizeof(factor));
  float block[kBlock];
  for (size_t at = 0; at < sums.size(); at += kBlock) {
    const size_t count = std::min(kBlock, sums.size() - at);
    (has_f16c() ? from_half_f16c : from_half)(halves(from) + at, count, factor, block);
    add(sums.data() + at, block, count);
  }
}

}  // namespace pando::comm

// The conversions of half_isa.h with AVX2 and F16C.
// SPDX-License-Identifier: MIT
#include "pando/tensor/half_blocks_impl.h"

#if defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>

namespace pando {
namespace {

struct Avx2 {
  using V = uint32_t __attribute__((vector_size(32)));
  static constexpr int kLanes = 8;

  static __m256i ints(V x) { return reinterpret_cast<__m256i>(x); }
  static V of(__m256i x) { return reinterpret_cast<V>(x); }

  static V all(uint32_t value) { return of(_mm256_set1_epi32(static_cast<int>(value))); }
  static V ascending() { return V{0, 1, 2, 3, 4, 5, 6, 7}; }
  static V load(const float* from) {
    return of(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static void store(V x, float* to) { _mm256_storeu_ps(to, _mm256_castsi256_ps(ints(x))); }
  static __m128i load_bits(const uint16_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  static V load_halves(const uint16_t* from) { return of(_mm256_cvtepu16_epi32(load_bits(from))); }
  static V larger(V a, V b) { return of(_mm256_max_epu32(ints(a), ints(b))); }
  // AVX2 compares signed numbers; magnitudes are positive as signed numbers too.
  static bool any_above(V a, uint32_t bound) {
    const __m256i above = _mm256_cmpgt_epi32(ints(a), ints(all(bound)));
    return _mm256_testz_si256(above, above) == 0;
  }
  static void store_upper(V a, V b, uint16_t* to) {
    const __m256i packed = _mm256_packus_epi32(ints(a >> 16), ints(b >> 16));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(packed, 0xd8));
  }
  static void store_f16(V x, uint16_t* to) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(_mm256_castsi256_ps(ints(x)), _MM_FROUND_TO_NEAREST_INT));
  }
  // Numbers below 2^-14 are rounded in the binade above, where one unit of their halves has as many
  // f32 bits as elsewhere.
  static void store_noisy_f16(V x, V noise, uint16_t* to) {
    const V sign = x & 0x80000000;
    const V below = of(_mm256_cmpgt_epi32(ints(all(0x38800000)), ints(x ^ sign)));
    const __m256 raise = _mm256_castsi256_ps(ints(below & (sign | 0x38800000)));
    const __m256 raised = _mm256_add_ps(_mm256_castsi256_ps(ints(x)), raise);
    const V cut = (of(_mm256_castps_si256(raised)) + noise) & 0xffffe000;
    const __m256 back = _mm256_sub_ps(_mm256_castsi256_ps(ints(cut)), raise);
    store_f16(of(_mm256_castps_si256(back)) | sign, to);
  }
  // Converting a signalling NaN would raise the invalid flag, so NaNs are made quiet first.
  static void widen_f16(const uint16_t* from, float* to) {
    const __m128i bits = load_bits(from);
    const __m128i magnitude = _mm_and_si128(bits, _mm_set1_epi16(0x7fff));
    const __m128i nan = _mm_cmpgt_epi16(magnitude, _mm_set1_epi16(0x7c00));
    const __m128i quiet = _mm_or_si128(bits, _mm_and_si128(nan, _mm_set1_epi16(0x0200)));
    _mm256_storeu_ps(to, _mm256_cvtph_ps(quiet));
  }
};

constexpr HalfIsa kAvx2 = HalfBlocks<Avx2>::table("avx2");

}  // namespace

const HalfIsa* avx2_halves() { return &kAvx2; }

}  // namespace pando
#else
namespace pando {

const HalfIsa* avx2_halves() { return nullptr; }

}  // namespace pando
#endif

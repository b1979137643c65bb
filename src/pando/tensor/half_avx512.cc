// The conversions of half_isa.h with AVX-512.
// SPDX-License-Identifier: MIT
#include "pando/tensor/half_blocks_impl.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>

namespace pando {
namespace {

struct Avx512 {
  using V = uint32_t __attribute__((vector_size(64)));
  static constexpr int kLanes = 16;
  static constexpr int kQuiet = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

  static __m512i ints(V x) { return reinterpret_cast<__m512i>(x); }
  static V of(__m512i x) { return reinterpret_cast<V>(x); }

  static V all(uint32_t value) { return of(_mm512_set1_epi32(static_cast<int>(value))); }
  static V ascending() { return V{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; }
  static V load(const float* from) { return of(_mm512_loadu_si512(from)); }
  static void store(V x, float* to) { _mm512_storeu_si512(to, ints(x)); }
  static __m256i load_bits(const uint16_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static V load_halves(const uint16_t* from) { return of(_mm512_cvtepu16_epi32(load_bits(from))); }
  static V larger(V a, V b) { return of(_mm512_max_epu32(ints(a), ints(b))); }
  static bool any_above(V a, uint32_t bound) {
    return _mm512_cmpgt_epu32_mask(ints(a), ints(all(bound))) != 0;
  }
  static void store_upper(V a, V b, uint16_t* to) {
    const V odd = ascending() * 0x00040004U + 0x00030001U;  // halves 1, 3, 5, .. of both
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(ints(a), ints(odd), ints(b)));
  }
  static void store_f16(V x, uint16_t* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvt_roundps_ph(_mm512_castsi512_ps(ints(x)), kQuiet));
  }
  // Numbers below 2^-14 are rounded in the binade above, where one unit of their halves has as many
  // f32 bits as elsewhere. This adds 0x0400 to the half, which is subtracted at the end.
  static void store_noisy_f16(V x, V noise, uint16_t* to) {
    const V magnitude = x & 0x7fffffff;
    const V binade = (x & 0x80000000) | 0x38800000;
    const __mmask16 below = _mm512_cmplt_epu32_mask(ints(magnitude), ints(all(0x38800000)));
    const __m512 number = _mm512_castsi512_ps(ints(x));
    const __m512 raised =
        _mm512_mask_add_ps(number, below, number, _mm512_castsi512_ps(ints(binade)));
    const V noisy = of(_mm512_castps_si512(raised)) + noise;
    const __m256i half = _mm512_cvt_roundps_ph(_mm512_castsi512_ps(ints(noisy)),
                                               _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_mask_sub_epi16(half, below, half, _mm256_set1_epi16(0x0400)));
  }
  static void widen_f16(const uint16_t* from, float* to) {
    _mm512_storeu_ps(to, _mm512_cvt_roundph_ps(load_bits(from), _MM_FROUND_NO_EXC));
  }
};

constexpr HalfIsa kAvx512 = HalfBlocks<Avx512>::table("avx512");

}  // namespace

const HalfIsa* avx512_halves() { return &kAvx512; }

}  // namespace pando
#else
namespace pando {

const HalfIsa* avx512_halves() { return nullptr; }

}  // namespace pando
#endif

// The direct convolution's inner loops for AVX2 with FMA: 8 lanes, 16 registers.
// SPDX-License-Identifier: MIT
#include <utility>

#include <immintrin.h>
#include <stddef.h>

#include "pando/kernels/direct/isa_kernels.h"

namespace pando::kernels::direct {
namespace {

using Vec = __m256;
typedef int32_t IntVec __attribute__((vector_size(32)));
constexpr int kLanes = 8;
constexpr int kPreferredPanel = 2;
constexpr int kTileRows[kMaxVectors] = {8, 6, 4};
constexpr int kPackedRows = 6;
constexpr int kTransposedRows[2] = {12, 6};

inline Vec load(const float* p) { return _mm256_loadu_ps(p); }
inline void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
inline Vec broadcast(const float* p) { return _mm256_broadcast_ss(p); }
inline Vec greater(Vec a, Vec b) { return _mm256_max_ps(a, b); }
inline Vec multiply_add(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec add_product(Vec x, Vec w, Vec sum) { return multiply_add(x, w, sum); }

inline __m256i lane_mask(int64_t lanes) {
  static const int32_t kOnes[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kOnes + 8 - lanes));
}
inline Vec load_part(const float* p, int64_t lanes) {
  return _mm256_maskload_ps(p, lane_mask(lanes));
}
inline void store_part(float* p, Vec v, int64_t lanes) {
  _mm256_maskstore_ps(p, lane_mask(lanes), v);
}
inline void store_bytes(uint8_t* p, IntVec v) {
  const auto all = reinterpret_cast<__m256i>(v);
  const __m128i words =
      _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
}

#include "pando/kernels/direct/isa_body.inc"
#include "pando/kernels/direct/isa_packed.inc"
using winograd::ProductArgs;
#include "pando/kernels/winograd/transforms.inc"
#include "pando/kernels/winograd/transposed_products.inc"

}  // namespace

const IsaKernels& avx2_kernels() {
  static constexpr IsaKernels kKernels = {
      .name = "avx2",
      .lanes = kLanes,
      .preferred_vectors = kPreferredPanel,
      .tile_rows = {kTileRows[0], kTileRows[1], kTileRows[2]},
      .panel = {panel<1>, panel<2>, panel<3>},
      .pool_row = pool_row,
      .add_rows = add_rows,
      .copy_rows = copy_rows,
      .transpose = transpose,
      .winograd2 = transforms_of<Tiles2>(),
      .winograd4 = transforms_of<Tiles4>(),
      .products = {.transposed = {transposed_product<1>, transposed_product<2>},
                   .fewest_rows = kFewestTransposedRows},
      .packed = {.rows = kPackedRows,
                 .panel = {packed_panel<1>, packed_panel<2>},
                 .pack_columns = pack_columns},
  };
  return kKernels;
}

}  // namespace pando::kernels::direct

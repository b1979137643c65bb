// The direct convolution's inner loops for AVX-512: 16 lanes, 32 registers.
// SPDX-License-Identifier: MIT
#include <utility>

#include <immintrin.h>
#include <stddef.h>

#include "pando/kernels/direct/isa_kernels.h"

namespace pando::kernels::direct {
namespace {

using Vec = __m512;
typedef int32_t IntVec __attribute__((vector_size(64)));
constexpr int kLanes = 16;
constexpr int kPreferredPanel = 2;
constexpr int kTileRows[kMaxVectors] = {8, 8, 8};
constexpr int kPackedRows = 14;
constexpr int kTransposedRows[2] = {16, 14};

inline Vec load(const float* p) { return _mm512_loadu_ps(p); }
inline void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
inline Vec broadcast(const float* p) { return _mm512_set1_ps(*p); }
inline Vec greater(Vec a, Vec b) { return _mm512_max_ps(a, b); }
inline Vec multiply_add(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
inline Vec add_product(Vec x, Vec w, Vec sum) { return multiply_add(x, w, sum); }

inline __mmask16 lane_mask(int64_t lanes) {
  return static_cast<__mmask16>((1u << static_cast<unsigned>(lanes)) - 1u);
}
inline Vec load_part(const float* p, int64_t lanes) {
  return _mm512_maskz_loadu_ps(lane_mask(lanes), p);
}
inline void store_part(float* p, Vec v, int64_t lanes) {
  _mm512_mask_storeu_ps(p, lane_mask(lanes), v);
}
inline void store_bytes(uint8_t* p, IntVec v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(v)));
}

#include "pando/kernels/direct/isa_body.inc"
#include "pando/kernels/direct/isa_packed.inc"
#include "pando/kernels/direct/narrow_panel.inc"
using winograd::ProductArgs;
#include "pando/kernels/winograd/narrow_products.inc"
#include "pando/kernels/winograd/transforms.inc"
#include "pando/kernels/winograd/transposed_products.inc"

}  // namespace

const IsaKernels& avx512_kernels() {
  static constexpr IsaKernels kKernels = {
      .name = "avx512",
      .lanes = kLanes,
      .preferred_vectors = kPreferredPanel,
      .tile_rows = {kTileRows[0], kTileRows[1], kTileRows[2]},
      .panel = {narrow_panel, panel<2>, panel<3>},
      .pool_row = pool_row,
      .add_rows = add_rows,
      .copy_rows = copy_rows,
      .transpose = transpose,
      .winograd2 = transforms_of<Tiles2>(),
      .winograd4 = transforms_of<Tiles4>(),
      .products = {.narrow = narrow_product,
                   .transposed = {transposed_product<1>, transposed_product<2>},
                   .fewest_rows = kFewestTransposedRows},
      .packed = {.rows = kPackedRows,
                 .panel = {packed_panel<1>, packed_panel<2>},
                 .pack_columns = pack_columns},
  };
  return kKernels;
}

}  // namespace pando::kernels::direct

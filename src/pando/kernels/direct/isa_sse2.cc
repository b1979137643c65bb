// The direct convolution's inner loops for every x86-64 CPU: 4 lanes, 16 registers, no FMA.
// SPDX-License-Identifier: MIT
#include <utility>

#include <emmintrin.h>
#include <stddef.h>

#include "pando/kernels/direct/isa_kernels.h"

namespace pando::kernels::direct {
namespace {

using Vec = __m128;
typedef int32_t IntVec __attribute__((vector_size(16)));
constexpr int kLanes = 4;
constexpr int kPreferredPanel = 2;
constexpr int kTileRows[kMaxVectors] = {6, 5, 3};

inline Vec load(const float* p) { return _mm_loadu_ps(p); }
inline void store(float* p, Vec v) { _mm_storeu_ps(p, v); }
inline Vec broadcast(const float* p) { return _mm_set1_ps(*p); }
inline Vec greater(Vec a, Vec b) { return _mm_max_ps(a, b); }
inline Vec multiply_add(Vec a, Vec b, Vec c) { return a * b + c; }
inline Vec add_product(Vec x, Vec w, Vec sum) { return multiply_add(x, w, sum); }

inline Vec load_part(const float* p, int64_t lanes) {
  Vec v = {};
  __builtin_memcpy(&v, p, static_cast<size_t>(lanes) * sizeof(float));
  return v;
}
inline void store_part(float* p, Vec v, int64_t lanes) {
  __builtin_memcpy(p, &v, static_cast<size_t>(lanes) * sizeof(float));
}
inline void store_bytes(uint8_t* p, IntVec v) {
  for (int i = 0; i < kLanes; ++i) p[i] = static_cast<uint8_t>(v[i]);
}

#include "pando/kernels/direct/isa_body.inc"
#include "pando/kernels/winograd/transforms.inc"

}  // namespace

const IsaKernels& sse2_kernels() {
  static constexpr IsaKernels kKernels = {
      .name = "sse2",
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
  };
  return kKernels;
}

}  // namespace pando::kernels::direct

// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/row_dots.h"

#include <cstring>

#include "pando/base/multiversion.h"

namespace pando::kernels::direct {
namespace {

constexpr int kLanes = 16;
constexpr int kRows = 4;  // rows that share the loads of the other operand
typedef float Vec __attribute__((vector_size(kLanes * sizeof(float))));

PANDO_INLINE void load(Vec& v, const float* p, int64_t lanes) {
  v = Vec{};
  std::memcpy(&v, p, static_cast<size_t>(lanes) * sizeof(float));
}

PANDO_INLINE float total(const Vec& v) {
  float sums[kLanes];
  std::memcpy(sums, &v, sizeof(v));
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

template <int kCount>
PANDO_INLINE void dots(const RowDotsArgs& args, int64_t first) {
  const float* const rows = args.rows + first * args.length;
  Vec sum[kCount] = {};
  Vec a, b;
  int64_t i = 0;
  for (; i + kLanes <= args.length; i += kLanes) {
    load(b, args.other + i, kLanes);
    for (int r = 0; r < kCount; ++r) {
      load(a, rows + r * args.length + i, kLanes);
      sum[r] += a * b;
    }
  }
  if (i < args.length) {
    load(b, args.other + i, args.length - i);
    for (int r = 0; r < kCount; ++r) {
      load(a, rows + r * args.length + i, args.length - i);
      sum[r] += a * b;
    }
  }
  for (int r = 0; r < kCount; ++r) args.y[first + r] = total(sum[r]);
}

}  // namespace

PANDO_MULTIVERSION void row_dots(const RowDotsArgs& args) {
  int64_t i = 0;
  for (; i + kRows <= args.count; i += kRows) dots<kRows>(args, i);
  for (; i < args.count; ++i) dots<1>(args, i);
}

}  // namespace pando::kernels::direct

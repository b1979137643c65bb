// A factor and an offset per channel, an optional residual and an activation in one pass.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/multiversion.h"
#include "pando/kernels/fast/activation_loops.h"
#include "pando/kernels/fast/channel_rows.h"

namespace pando::kernels::fast {
namespace {

using AffineLoop = void (*)(const float*, float*, int64_t, int64_t, const AffineRows&);

template <Activation activation, bool added = false>
PANDO_INLINE void affine_body(const float* x, float* y, int64_t count, int64_t length,
                              const AffineRows& rows) {
  const float* __restrict center = rows.center;
  const float* __restrict scale = rows.scale;
  const float* __restrict shift = rows.shift;
  const float* residual = rows.residual;
  const float alpha = rows.alpha;
  for (int64_t base = 0; base < count; base += length) {
    const int64_t n = std::min(length, count - base);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      float value = (x[base + i] - center[i]) * scale[i] + shift[i];
      if constexpr (added) value += residual[base + i];
      if constexpr (activation == Activation::none) {
        y[base + i] = value;
      } else if constexpr (activation == Activation::relu) {
        y[base + i] = value < 0 ? 0 : value;
      } else if constexpr (activation == Activation::relu6) {
        const float floored = value < 0 ? 0 : value;
        y[base + i] = floored > 6 ? 6 : floored;
      } else {
        y[base + i] = value > 0 ? value : value * alpha;
      }
    }
  }
}

PANDO_MULTIVERSION void affine(const float* x, float* y, int64_t count, int64_t length,
                               const AffineRows& rows) {
  affine_body<Activation::none>(x, y, count, length, rows);
}

PANDO_MULTIVERSION void affine_relu(const float* x, float* y, int64_t count, int64_t length,
                                    const AffineRows& rows) {
  affine_body<Activation::relu>(x, y, count, length, rows);
}

PANDO_MULTIVERSION void affine_relu6(const float* x, float* y, int64_t count, int64_t length,
                                     const AffineRows& rows) {
  affine_body<Activation::relu6>(x, y, count, length, rows);
}

PANDO_MULTIVERSION void affine_leaky_relu(const float* x, float* y, int64_t count, int64_t length,
                                          const AffineRows& rows) {
  affine_body<Activation::leaky_relu>(x, y, count, length, rows);
}

PANDO_MULTIVERSION void affine_added(const float* x, float* y, int64_t count, int64_t length,
                                     const AffineRows& rows) {
  affine_body<Activation::none, true>(x, y, count, length, rows);
}

PANDO_MULTIVERSION void affine_added_relu(const float* x, float* y, int64_t count, int64_t length,
                                          const AffineRows& rows) {
  affine_body<Activation::relu, true>(x, y, count, length, rows);
}

// The loop that applies the activation too; null if it is another loop's task.
AffineLoop whole_loop(const AffineRows& rows) {
  const bool added = rows.residual != nullptr;
  switch (rows.activation) {
    case Activation::none: return added ? affine_added : affine;
    case Activation::relu: return added ? affine_added_relu : affine_relu;
    case Activation::leaky_relu: return added ? nullptr : affine_leaky_relu;
    case Activation::relu6: return added ? nullptr : affine_relu6;
    case Activation::hard_swish:
    case Activation::swish: break;
  }
  return nullptr;
}

}  // namespace

void apply_affine(const float* x, float* y, int64_t count, ChannelRow row, const AffineRows& rows) {
  if (const AffineLoop loop = whole_loop(rows)) return loop(x, y, count, row.length(), rows);
  // Pieces of whole rows, which are in the cache when the activation reads them.
  const int64_t step = std::max<int64_t>(4096 / row.length(), 1) * row.length();
  for (int64_t at = 0; at < count; at += step) {
    const int64_t piece = std::min(step, count - at);
    AffineRows of_piece = rows;
    if (rows.residual != nullptr) of_piece.residual += at;
    (rows.residual != nullptr ? affine_added : affine)(x + at, y + at, piece, row.length(),
                                                       of_piece);
    activate({rows.activation, rows.alpha}, y + at, piece);
  }
}

}  // namespace pando::kernels::fast

// The filter gradient of depthwise windows of 5x5, strip by strip.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/depthwise_strips.h"

namespace pando::kernels::fast {
namespace {

struct GradStrip {
  int64_t c;
  int64_t first;  // pixel of the row
};

// The sums of kRows rows of taps from kFirstRow on are in registers. The sums of the whole window
// would not fit beside the pixels of dy.
template <typename Shape, int kFirstRow, int kRows>
PANDO_INLINE void add_strip_rows(const GradBand& band, const GradStrip& strip) {
  constexpr int kWindow = Shape::kWindow;
  const WindowPlan& plan = band.plan;
  const int64_t channels = plan.channels;
  float* dfilter = band.data.dfilter + kFirstRow * kWindow * channels + strip.c;
  WideFloats sums[kRows * kWindow];
#pragma GCC unroll 32
  for (int t = 0; t < kRows * kWindow; ++t) load(dfilter + t * channels, sums[t]);
  RowCursor cursor(plan, band.rows.begin);
  for (int64_t row = band.rows.begin; row < band.rows.end; ++row, cursor.advance()) {
    const StripSource source(cursor, band.data.x, strip.first - Shape::kPadding, strip.c);
    const float* from = band.data.dy + (row * plan.width + strip.first) * channels + strip.c;
    WideFloats dy[Shape::kPixels];
#pragma GCC unroll 16
    for (int p = 0; p < Shape::kPixels; ++p) load(from + p * channels, dy[p]);
#pragma GCC unroll 16
    for (int a = 0; a < kRows; ++a) {
      if (!source.has(kFirstRow + a)) continue;
      const float* x = source.row(kFirstRow + a);
#pragma GCC unroll 16
      for (int j = Shape::kFirst; j < Shape::kEnd; ++j) {
        WideFloats value;
        load(x + j * channels, value);
#pragma GCC unroll 16
        for (int p = 0; p < Shape::kPixels; ++p) {
          const int b = j - p;
          if (b >= 0 && b < kWindow) sums[a * kWindow + b] += value * dy[p];
        }
      }
    }
  }
#pragma GCC unroll 32
  for (int t = 0; t < kRows * kWindow; ++t) store(dfilter + t * channels, sums[t]);
}

template <int kPixels, StripEnds kEnds>
PANDO_AVX512 void add_strip(const GradBand& band, const GradStrip& strip) {
  using Shape = StripShape<5, kPixels, kEnds>;
  add_strip_rows<Shape, 0, 3>(band, strip);
  add_strip_rows<Shape, 3, 2>(band, strip);
}

struct GradStrips {
  template <int kPixels, StripEnds kEnds>
  static auto of() {
    return add_strip<kPixels, kEnds>;
  }
};

}  // namespace

PANDO_AVX512 void add_grad_strips(const GradBand& band, int64_t c) {
  const StripCut cut(band.plan.width);
  for (int64_t s = 0; s < cut.count; ++s) {
    strip_function<GradStrips>(cut.pixels(s), cut.ends(s))(band, {c, cut.first(s)});
  }
}

}  // namespace pando::kernels::fast

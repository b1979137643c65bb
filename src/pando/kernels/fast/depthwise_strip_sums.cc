// The sums of depthwise windows, strip by strip: forward and the input gradient with stride 1.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/depthwise_strips.h"

namespace pando::kernels::fast {
namespace {

// Rows of the result whose sums are in registers together: a number of the source is read once for
// all of them. The number leaves enough registers for the taps: nine, or two rows of five.
template <typename Shape>
constexpr int rows_at_once() {
  if (Shape::kWindow == 5 || Shape::kPixels > 6) return 2;
  return Shape::kPixels == 4 ? 4 : 3;
}

struct SumStrip {
  int64_t c;
  int64_t first;      // pixel of the row
  const float* taps;  // of sixteen channels each, in the order of the window
};

// Adds the products of all taps, each sum in the order of the taps.
template <typename Shape, int kRows>
PANDO_INLINE void add_strip_taps(const StripSource& source, int64_t channels, const float* taps,
                                 WideFloats (&sums)[kRows * Shape::kPixels]) {
  constexpr int kWindow = Shape::kWindow;
  constexpr int kPixels = Shape::kPixels;
  WideFloats filter[kWindow][kWindow];
#pragma GCC unroll 16
  for (int i = 0; i < kRows + kWindow - 1; ++i) {
#pragma GCC unroll 16
    for (int b = 0; b < kWindow; ++b) {
      if (i < kWindow) load(taps + (i * kWindow + b) * kWidthOf<WideFloats>, filter[i][b]);
    }
    if (!source.has(i)) continue;
    const float* row = source.row(i);
#pragma GCC unroll 16
    for (int j = Shape::kFirst; j < Shape::kEnd; ++j) {
      WideFloats value;
      load(row + j * channels, value);
#pragma GCC unroll 32
      for (int n = 0; n < kRows * kPixels; ++n) {
        const int a = i - n / kPixels;
        const int b = j - n % kPixels;
        if (a >= 0 && a < kWindow && b >= 0 && b < kWindow) sums[n] += value * filter[a][b];
      }
    }
  }
}

template <typename Shape, int kRows>
PANDO_INLINE void sum_strip_rows(const SumBand& band, const SumStrip& strip,
                                 const RowCursor& cursor) {
  constexpr int kPixels = Shape::kPixels;
  const WindowPlan& plan = band.plan;
  WideFloats sums[kRows * kPixels] = {};
  const StripSource source(cursor, band.data.x, strip.first - Shape::kPadding, strip.c);
  add_strip_taps<Shape, kRows>(source, plan.channels, strip.taps, sums);
  GroupEnds(band, strip.c).finish(sums);
  const int64_t row = cursor.sample * plan.height + cursor.h;
  float* y = band.data.y + (row * plan.width + strip.first) * plan.channels + strip.c;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r, y += plan.width * plan.channels) {
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) store(y + p * plan.channels, sums[r * kPixels + p]);
  }
}

template <int kWindow, int kPixels, StripEnds kEnds>
PANDO_AVX512 void sum_strip(const SumBand& band, const SumStrip& strip) {
  using Shape = StripShape<kWindow, kPixels, kEnds>;
  constexpr int kRows = rows_at_once<Shape>();
  const WindowPlan& plan = band.plan;
  RowCursor cursor(plan, band.rows.begin);
  for (int64_t left = band.rows.size(); left > 0;) {
    const bool many = std::min(left, plan.height - cursor.h) >= kRows;
    const int64_t rows = many ? kRows : 1;
    if (Shape::kLeft) band.fetch(rows);
    if (many) {
      sum_strip_rows<Shape, kRows>(band, strip, cursor);
    } else {
      sum_strip_rows<Shape, 1>(band, strip, cursor);
    }
    cursor.advance(rows);
    left -= rows;
  }
}

template <int kWindow>
struct SumStrips {
  template <int kPixels, StripEnds kEnds>
  static auto of() {
    return sum_strip<kWindow, kPixels, kEnds>;
  }
};

}  // namespace

PANDO_AVX512 void sum_strips(const SumBand& band, int64_t c) {
  const WindowPlan& plan = band.plan;
  const TapCopy taps(band, c);
  const StripCut cut(plan.width);
  for (int64_t s = 0; s < cut.count; ++s) {
    const auto sum = plan.window == 3 ? strip_function<SumStrips<3>>(cut.pixels(s), cut.ends(s))
                                      : strip_function<SumStrips<5>>(cut.pixels(s), cut.ends(s));
    sum(band, {c, cut.first(s), taps.data()});
  }
}

}  // namespace pando::kernels::fast

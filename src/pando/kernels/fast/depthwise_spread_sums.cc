// The input gradient of depthwise windows with stride 2, sixteen channels at a time.
//
// Row h of the result is the sum of row o of the source times row a of the filter for all
// h + padding = 2 o + a. Two neighbouring rows, h + padding = 2 m and 2 m + 1, read the same rows
// of the source: m with a = 0 and 1, m - 1 with a = 2 and 3, and so on. The same holds for columns.
// So the sums of two rows by several pairs of columns are in registers together.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/depthwise_bands.h"

namespace pando::kernels::fast {
namespace {

template <int window, int pairs>
struct SpreadShape {
  static constexpr int kWindow = window;
  static constexpr int kPairs = pairs;
  static constexpr int kPixels = 2 * pairs;
  static constexpr int kBack = (window - 1) / 2;  // how far rows and columns of the source go back
  static constexpr int kColumns = pairs + kBack;
  static constexpr uint32_t kAllPixels = (uint32_t{1} << kPixels) - 1;
  // The tap of column i for pixel p, none if it is not in the window.
  PANDO_INLINE static constexpr int tap(int i, int p) { return p % 2 + 2 * (p / 2 + kBack - i); }
};

// Some columns of the result.
struct SpreadStrip {
  int64_t c;
  const float* taps;
  Columns columns;  // of the source
  Columns pixels;
};

// The rows of the source that two rows of the result read, the last one first; from a strip's
// first column on.
struct SpreadSource {
  PANDO_INLINE SpreadSource(const SumBand& band, const SpreadStrip& strip, const RowCursor& cursor)
      : at((cursor.h + cursor.plan.pad_top) >> 1),
        height(cursor.plan.source_height),
        length(cursor.plan.source_width * cursor.plan.channels),
        last(band.data.x + (cursor.sample * height + at) * length +
             strip.columns.first * cursor.plan.channels + strip.c) {}
  PANDO_INLINE bool has(int back) const {
    return static_cast<uint64_t>(at - back) < static_cast<uint64_t>(height);
  }
  PANDO_INLINE const float* row(int back) const { return last - back * length; }

  int64_t at;
  int64_t height;
  int64_t length;
  const float* last;
};

// Adds the products of all taps, each sum in the order of the rows of taps.
template <typename Shape>
PANDO_INLINE void add_spread_taps(const SpreadSource& source, const SpreadStrip& strip,
                                  WideFloats (&sums)[2 * Shape::kPixels]) {
  constexpr int kWindow = Shape::kWindow;
  constexpr int kPixels = Shape::kPixels;
  const uint32_t there = strip.columns.bits();
#pragma GCC unroll 16
  for (int t = 0; t <= Shape::kBack; ++t) {
    if (!source.has(t)) continue;
    const float* row = source.row(t);
    WideFloats filter[2 * kWindow];
#pragma GCC unroll 16
    for (int b = 0; b < 2 * kWindow; ++b) {
      const int at = 2 * t * kWindow + b;
      if (at < kWindow * kWindow) load(strip.taps + at * kWidthOf<WideFloats>, filter[b]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < Shape::kColumns; ++i) {
      if ((there >> i & 1) == 0) continue;
      WideFloats value;
      load(row + i * strip.columns.channels, value);
#pragma GCC unroll 32
      for (int n = 0; n < 2 * kPixels; ++n) {
        const int a = n / kPixels;
        const int b = Shape::tap(i, n % kPixels);
        if (2 * t + a < kWindow && b >= 0 && b < kWindow) {
          sums[n] += value * filter[a * kWindow + b];
        }
      }
    }
  }
}

// Rows that are null are not wanted.
template <typename Shape>
PANDO_INLINE void store_spread(const Columns& pixels, float* const (&y)[2],
                               const WideFloats (&sums)[2 * Shape::kPixels]) {
  const uint32_t there = pixels.bits();
  const bool all = (there & Shape::kAllPixels) == Shape::kAllPixels;
#pragma GCC unroll 2
  for (int r = 0; r < 2; ++r) {
    if (y[r] == nullptr) continue;
#pragma GCC unroll 16
    for (int p = 0; p < Shape::kPixels; ++p) {
      if (!all && (there >> p & 1) == 0) continue;
      store(y[r] + p * pixels.channels, sums[r * Shape::kPixels + p]);
    }
  }
}

template <int kWindow, int kPairs>
PANDO_AVX512 void sum_spread(const SumBand& band, const SpreadStrip& strip) {
  using Shape = SpreadShape<kWindow, kPairs>;
  const WindowPlan& plan = band.plan;
  const int64_t length = plan.width * plan.channels;
  const GroupEnds ends(band, strip.c);
  float* y = band.data.y + band.rows.begin * length + strip.pixels.first * plan.channels + strip.c;
  RowCursor cursor(plan, band.rows.begin);
  for (int64_t left = band.rows.size(); left > 0;) {
    const bool odd = ((cursor.h + plan.pad_top) & 1) != 0;
    const bool two = !odd && left > 1 && cursor.h + 1 < plan.height;
    const int64_t rows = two ? 2 : 1;
    if (strip.pixels.first <= 0) band.fetch(rows);
    WideFloats sums[2 * Shape::kPixels] = {};
    add_spread_taps<Shape>(SpreadSource(band, strip, cursor), strip, sums);
    ends.finish(sums);
    float* second = two ? y + length : nullptr;
    store_spread<Shape>(strip.pixels, {odd ? nullptr : y, odd ? y : second}, sums);
    cursor.advance(rows);
    left -= rows;
    y += rows * length;
  }
}

template <int kWindow, int kPairs>
PANDO_AVX512 void sum_spread_strips(const SumBand& band, int64_t c, const float* taps) {
  using Shape = SpreadShape<kWindow, kPairs>;
  const WindowPlan& plan = band.plan;
  SpreadStrip strip{c,
                    taps,
                    {plan.pad_left / 2 - Shape::kBack, plan.source_width, plan.channels},
                    {-(plan.pad_left % 2), plan.width, plan.channels}};
  while (strip.pixels.first < plan.width) {
    sum_spread<kWindow, kPairs>(band, strip);
    strip.pixels.first += Shape::kPixels;
    strip.columns.first += Shape::kPairs;
  }
}

}  // namespace

PANDO_AVX512 void sum_spread_blocks(const SumBand& band, int64_t c) {
  const WindowPlan& plan = band.plan;
  const TapCopy taps(band, c);
  // The size that leaves fewer pixels of the last strip unused.
  const int64_t pairs = (plan.width + plan.pad_left % 2 + 1) / 2;
  const bool by_four = (pairs + 3) / 4 * 4 <= (pairs + 2) / 3 * 3;
  if (plan.window == 3) {
    (by_four ? sum_spread_strips<3, 4> : sum_spread_strips<3, 3>)(band, c, taps.data());
  } else {
    (by_four ? sum_spread_strips<5, 4> : sum_spread_strips<5, 3>)(band, c, taps.data());
  }
}

}  // namespace pando::kernels::fast

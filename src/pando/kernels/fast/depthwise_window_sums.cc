// The sums of depthwise windows: forward, and the input gradient.
// SPDX-License-Identifier: MIT
#include <type_traits>

#include "pando/kernels/fast/depthwise_bands.h"

namespace pando::kernels::fast {
namespace {

// How a group of pixels meets the columns of its source: tap(i, p) is the tap of column i for pixel
// p, none if it is not below kWindow.
template <int window, int kStride>
struct Forward {
  static constexpr int kWindow = window;
  static constexpr bool kSpreads = false;
  static constexpr int kFew = 3;  // pixels of a group that is not whole
  PANDO_INLINE static constexpr int columns(int pixels) { return (pixels - 1) * kStride + kWindow; }
  PANDO_INLINE static constexpr int tap(int i, int p) { return i - p * kStride; }
  PANDO_INLINE static constexpr int step(int pixels) { return pixels * kStride; }
};

// The input gradient with stride 2: pixel j of the result is the sum of column o times tap b for
// all j + padding = 2 o + b. In a group, j + padding of the first pixel is even, with kOdd odd.
template <int window, int kOdd = 0>
struct Spread {
  static constexpr int kWindow = window;
  static constexpr bool kSpreads = true;
  static constexpr int kFew = 2;
  static constexpr int kBack = (kWindow - 1) / 2;  // columns before that of the first tap
  PANDO_INLINE static constexpr int columns(int pixels) {
    return (pixels - 1 + kOdd) / 2 + kBack + 1;
  }
  PANDO_INLINE static constexpr int tap(int i, int p) {
    return (p + kOdd) % 2 + 2 * ((p + kOdd) / 2 + kBack - i);
  }
  PANDO_INLINE static constexpr int step(int pixels) { return pixels / 2; }
};

// Adds the products of all taps, each sum in the order of the taps.
template <typename Walk, bool kInside, typename Values, int kPixels>
PANDO_INLINE void add_taps(const SourceRows<Walk::kWindow>& source, const Columns& columns,
                           const Taps& taps, Values (&sums)[kPixels]) {
  constexpr int kWindow = Walk::kWindow;
  constexpr int kColumnsOfGroup = Walk::columns(kPixels);
  const uint32_t there = kInside ? 0 : columns.bits();
#pragma GCC unroll 1
  for (int a = 0; a < kWindow; ++a) {
    if (source.row[a] == nullptr) continue;
    const float* row = source.row[a] + columns.first * columns.channels;
    Values filter[kWindow];
#pragma GCC unroll 16
    for (int b = 0; b < kWindow; ++b) load(taps.filter + (a * kWindow + b) * taps.step, filter[b]);
#pragma GCC unroll 16
    for (int i = 0; i < kColumnsOfGroup; ++i) {
      if (!kInside && (there >> i & 1) == 0) continue;
      Values value;
      load(row + i * columns.channels, value);
#pragma GCC unroll 16
      for (int p = 0; p < kPixels; ++p) {
        const int b = Walk::tap(i, p);
        if (b >= 0 && b < kWindow) sums[p] += value * filter[b];
      }
    }
  }
}

template <typename Walk, bool kInside, int kPixels, typename Values>
PANDO_INLINE void sum_group(const SourceRows<Walk::kWindow>& source, const Columns& columns,
                            const Taps& taps, const GroupEnds& ends, float* y, Values) {
  Values sums[kPixels] = {};
  add_taps<Walk, kInside>(source, columns, taps, sums);
  ends.finish(sums);
#pragma GCC unroll 16
  for (int p = 0; p < kPixels; ++p) store(y + p * columns.channels, sums[p]);
}

// What is left of a row of the result: the columns of its next pixel's window, and where it goes.
struct RestOfRow {
  Columns columns;
  int64_t left;
  float* y;
  PANDO_INLINE void pass(int pixels, int columns_of_source) {
    left -= pixels;
    columns.first += columns_of_source;
    y += pixels * columns.channels;
  }
};

template <typename Walk, typename Values>
PANDO_INLINE void sum_rest(const SourceRows<Walk::kWindow>& source, const Taps& taps,
                           const GroupEnds& ends, RestOfRow rest) {
  constexpr bool kVector = sizeof(Values) > sizeof(float);
  while (rest.left > 0) {
    // Few sizes of groups: each is much code.
    int size = 1;
    if (kVector && rest.left >= 6 && rest.columns.inside(Walk::columns(6))) {
      size = 6;
      sum_group<Walk, true, 6>(source, rest.columns, taps, ends, rest.y, Values{});
    } else if (kVector && rest.left >= 6) {
      size = 6;
      sum_group<Walk, false, 6>(source, rest.columns, taps, ends, rest.y, Values{});
    } else if ((kVector || Walk::kSpreads) && rest.left >= Walk::kFew) {
      size = Walk::kFew;
      sum_group<Walk, false, Walk::kFew>(source, rest.columns, taps, ends, rest.y, Values{});
    } else {
      sum_group<Walk, false, 1>(source, rest.columns, taps, ends, rest.y, Values{});
    }
    rest.pass(size, Walk::step(size));
  }
}

// A row of the result, for as many channels as Values holds.
template <typename Walk, typename Values>
PANDO_INLINE void sum_row(const WindowPlan& plan, const SourceRows<Walk::kWindow>& source,
                          const Taps& taps, const GroupEnds& ends, float* y) {
  RestOfRow rest{{-plan.pad_left, plan.source_width, plan.channels}, plan.width, y};
  if constexpr (Walk::kSpreads) {
    rest.columns.first = plan.pad_left / 2 - Walk::kBack;
    if (plan.pad_left % 2 != 0) {
      sum_group<Spread<Walk::kWindow, 1>, false, 1>(source, rest.columns, taps, ends, y, Values{});
      rest.pass(1, 1);
    }
  }
  sum_rest<Walk, Values>(source, taps, ends, rest);
}

// Two rows of four pixels, whose windows of 3x3 lie in four rows of the source. All taps stay in
// registers, and a number of the source is read once for both rows; the sums have the order of the
// taps, as in sum_group. Needs the 32 registers of AVX-512.
constexpr int kPairPixels = 4;
// In narrower pictures the pixels at both ends, which pass one by one, cost more than pairs save.
constexpr int64_t kLeastPairWidth = 14;

PANDO_INLINE void sum_pair_group(const SourceRows<4>& source, const Columns& columns,
                                 const WideFloats (&filter)[9], const GroupEnds& ends,
                                 float* const (&y)[2]) {
  WideFloats sums[2 * kPairPixels] = {};
#pragma GCC unroll 16
  for (int i = 0; i < 4; ++i) {
    const float* row = source.row[i] + columns.first * columns.channels;
#pragma GCC unroll 16
    for (int j = 0; j < kPairPixels + 2; ++j) {
      WideFloats value;
      load(row + j * columns.channels, value);
#pragma GCC unroll 16
      for (int r = 0; r < 2; ++r) {
#pragma GCC unroll 16
        for (int p = 0; p < kPairPixels; ++p) {
          const int a = i - r;
          const int b = j - p;
          if (a >= 0 && a < 3 && b >= 0 && b < 3) {
            sums[r * kPairPixels + p] += value * filter[a * 3 + b];
          }
        }
      }
    }
  }
  ends.finish(sums);
#pragma GCC unroll 16
  for (int n = 0; n < 2 * kPairPixels; ++n) {
    store(y[n / kPairPixels] + n % kPairPixels * columns.channels, sums[n]);
  }
}

// Two rows of the result, all of whose windows' rows are in the source.
template <typename Walk>
PANDO_INLINE void sum_row_pair(const WindowPlan& plan, const SourceRows<4>& source,
                               const Taps& taps, const GroupEnds& ends, float* y) {
  WideFloats filter[9];
#pragma GCC unroll 16
  for (int t = 0; t < 9; ++t) load(taps.filter + t * taps.step, filter[t]);
  const SourceRows<3> sources[2] = {source.template from<3>(0), source.template from<3>(1)};
  RestOfRow rest{{-plan.pad_left, plan.source_width, plan.channels}, plan.width, y};
  const int64_t length = plan.width * plan.channels;
  for (; rest.left > 0 && rest.columns.first < 0; rest.pass(1, 1)) {
    for (int r = 0; r < 2; ++r) {
      sum_group<Walk, false, 1>(sources[r], rest.columns, taps, ends, rest.y + r * length,
                                WideFloats{});
    }
  }
  while (rest.left >= kPairPixels && rest.columns.inside(kPairPixels + 2)) {
    sum_pair_group(source, rest.columns, filter, ends, {rest.y, rest.y + length});
    rest.pass(kPairPixels, kPairPixels);
  }
  for (int r = 0; r < 2; ++r) {
    sum_rest<Walk, WideFloats>(sources[r], taps, ends,
                               {rest.columns, rest.left, rest.y + r * length});
  }
}

// Sums the channels from c on, as many as Values holds.
template <typename Walk, typename Values>
PANDO_INLINE void sum_vector(const SumBand& band, int64_t c) {
  const WindowPlan& plan = band.plan;
  const Taps taps(band, c);
  const GroupEnds ends(band, c);
  constexpr bool kPairs = std::is_same_v<Walk, Forward<3, 1>> && std::is_same_v<Values, WideFloats>;
  RowCursor cursor(plan, band.rows.begin);
  for (int64_t row = band.rows.begin; row < band.rows.end; ++row, cursor.advance()) {
    band.fetch();
    float* y = band.data.y + row * plan.width * plan.channels + c;
    if constexpr (kPairs) {
      if (plan.width >= kLeastPairWidth && row + 1 < band.rows.end && cursor.h + 1 < plan.height) {
        const SourceRows<4> pair(cursor, band.data.x, c);
        if (pair.all_inside()) {
          sum_row_pair<Walk>(plan, pair, taps, ends, y);
          ++row;
          cursor.advance();
          continue;
        }
      }
    }
    const SourceRows<Walk::kWindow> source(cursor, band.data.x, c);
    sum_row<Walk, Values>(plan, source, taps, ends, y);
  }
}

template <typename Walk>
PANDO_AVX512 void sum_wide(const SumBand& band, int64_t c) {
  sum_vector<Walk, WideFloats>(band, c);
}
template <typename Walk>
PANDO_AVX2 void sum_narrow(const SumBand& band, int64_t c) {
  const int64_t channels = band.plan.channels;
  for (; c + kLanes <= channels; c += kLanes) sum_vector<Walk, Floats>(band, c);
  for (; c < channels; ++c) sum_vector<Walk, float>(band, c);
}

struct SumLoops {
  void (*wide)(const SumBand&, int64_t);    // sixteen channels
  void (*narrow)(const SumBand&, int64_t);  // all channels that are left
};

template <int kWindow>
SumLoops sum_loops(const WindowPlan& plan) {
  if (plan.spread) return {sum_spread_blocks, sum_narrow<Spread<kWindow>>};
  if (plan.stride == 2) {
    return {sum_wide<Forward<kWindow, 2>>, sum_narrow<Forward<kWindow, 2>>};
  }
  // Rows of many pixels with windows of 3x3 wait for memory, and pairs read it in its order.
  constexpr int64_t kMostStripWidth = 16;
  const bool strips = plan.keeps_width() && (kWindow == 5 || plan.width <= kMostStripWidth);
  return {strips ? sum_strips : sum_wide<Forward<kWindow, 1>>, sum_narrow<Forward<kWindow, 1>>};
}

}  // namespace

void sum_band(const SumBand& band) {
  const SumLoops loops = band.plan.window == 3 ? sum_loops<3>(band.plan) : sum_loops<5>(band.plan);
  int64_t c = 0;
  if (band.plan.wide) {
    for (; c + 2 * kLanes <= band.plan.channels; c += 2 * kLanes) loops.wide(band, c);
  }
  loops.narrow(band, c);
}

}  // namespace pando::kernels::fast

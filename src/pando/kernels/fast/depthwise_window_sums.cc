// The sums of depthwise windows: forward, and the input gradient.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/depthwise_bands.h"
#include "pando/kernels/fast/vector_activation.h"

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

struct Taps {
  const float* filter;  // the first tap at the first channel
  int64_t step;         // from one tap to the next
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

struct GroupEnds {
  const float* bias;  // at the first channel; may be null
  NodeActivation activation;
};

template <typename Walk, bool kInside, int kPixels, typename Values>
PANDO_INLINE void sum_group(const SourceRows<Walk::kWindow>& source, const Columns& columns,
                            const Taps& taps, const GroupEnds& ends, float* y, Values) {
  Values sums[kPixels] = {};
  add_taps<Walk, kInside>(source, columns, taps, sums);
  Values bias{};
  if (ends.bias != nullptr) load(ends.bias, bias);
#pragma GCC unroll 16
  for (int p = 0; p < kPixels; ++p) {
    if (ends.bias != nullptr) sums[p] += bias;
    activate_vector(ends.activation, sums[p]);
    store(y + p * columns.channels, sums[p]);
  }
}

// A row of the result, for as many channels as Values holds.
template <typename Walk, typename Values>
PANDO_INLINE void sum_row(const WindowPlan& plan, const SourceRows<Walk::kWindow>& source,
                          const Taps& taps, const GroupEnds& ends, float* y) {
  constexpr bool kVector = sizeof(Values) > sizeof(float);
  Columns columns{-plan.pad_left, plan.source_width, plan.channels};
  int64_t left = plan.width;
  if constexpr (Walk::kSpreads) {
    columns.first = plan.pad_left / 2 - Walk::kBack;
    if (plan.pad_left % 2 != 0) {
      sum_group<Spread<Walk::kWindow, 1>, false, 1>(source, columns, taps, ends, y, Values{});
      --left;
      ++columns.first;
      y += plan.channels;
    }
  }
  while (left > 0) {
    // Few sizes of groups: each is much code.
    int size = 1;
    if (kVector && left >= 6 && columns.inside(Walk::columns(6))) {
      size = 6;
      sum_group<Walk, true, 6>(source, columns, taps, ends, y, Values{});
    } else if (kVector && left >= 6) {
      size = 6;
      sum_group<Walk, false, 6>(source, columns, taps, ends, y, Values{});
    } else if ((kVector || Walk::kSpreads) && left >= Walk::kFew) {
      size = Walk::kFew;
      sum_group<Walk, false, Walk::kFew>(source, columns, taps, ends, y, Values{});
    } else {
      sum_group<Walk, false, 1>(source, columns, taps, ends, y, Values{});
    }
    left -= size;
    columns.first += Walk::step(size);
    y += size * plan.channels;
  }
}

// As many channels from c on as Values holds.
template <typename Walk, typename Values>
PANDO_INLINE void sum_vector(const SumBand& band, int64_t c) {
  constexpr int kWindow = Walk::kWindow;
  const WindowPlan& plan = band.plan;
  const int64_t last = plan.turned ? kWindow * kWindow - 1 : 0;
  const Taps taps{band.data.filter + last * plan.channels + c,
                  plan.turned ? -plan.channels : plan.channels};
  const GroupEnds ends{band.ends.bias == nullptr ? nullptr : band.ends.bias + c,
                       band.ends.activation};
  RowCursor cursor(plan, band.rows.begin);
  for (int64_t row = band.rows.begin; row < band.rows.end; ++row, cursor.advance()) {
    const SourceRows<kWindow> source(cursor, band.data.x, c);
    band.source.fetch();
    band.result.fetch();
    sum_row<Walk, Values>(plan, source, taps, ends,
                          band.data.y + row * plan.width * plan.channels + c);
  }
}

// A function for an instruction set cannot be a template.
#define PANDO_WINDOW(name, ...)                                        \
  PANDO_AVX512 void sum_wide_##name(const SumBand& band, int64_t c) {  \
    sum_vector<__VA_ARGS__, WideFloats>(band, c);                      \
  }                                                                    \
  PANDO_AVX2 void sum_rest_##name(const SumBand& band, int64_t c) {    \
    const int64_t channels = band.plan.channels;                       \
    for (; c + kLanes <= channels; c += kLanes) {                      \
      sum_vector<__VA_ARGS__, Floats>(band, c);                        \
    }                                                                  \
    for (; c < channels; ++c) sum_vector<__VA_ARGS__, float>(band, c); \
  }
PANDO_WINDOW(3_1, Forward<3, 1>)
PANDO_WINDOW(3_2, Forward<3, 2>)
PANDO_WINDOW(5_1, Forward<5, 1>)
PANDO_WINDOW(5_2, Forward<5, 2>)
PANDO_WINDOW(3_spread, Spread<3>)
PANDO_WINDOW(5_spread, Spread<5>)
#undef PANDO_WINDOW

struct SumLoops {
  void (*wide)(const SumBand&, int64_t);
  void (*rest)(const SumBand&, int64_t);
};

SumLoops sum_loops(const WindowPlan& plan) {
  if (plan.spread) {
    return plan.window == 3 ? SumLoops{sum_wide_3_spread, sum_rest_3_spread}
                            : SumLoops{sum_wide_5_spread, sum_rest_5_spread};
  }
  if (plan.window == 3) {
    return plan.stride == 1 ? SumLoops{sum_wide_3_1, sum_rest_3_1}
                            : SumLoops{sum_wide_3_2, sum_rest_3_2};
  }
  return plan.stride == 1 ? SumLoops{sum_wide_5_1, sum_rest_5_1}
                          : SumLoops{sum_wide_5_2, sum_rest_5_2};
}

}  // namespace

void sum_band(const SumBand& band) {
  const SumLoops loops = sum_loops(band.plan);
  int64_t c = 0;
  if (band.plan.wide) {
    for (; c + 2 * kLanes <= band.plan.channels; c += 2 * kLanes) loops.wide(band, c);
  }
  loops.rest(band, c);
}

}  // namespace pando::kernels::fast

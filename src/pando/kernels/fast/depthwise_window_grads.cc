// The filter gradient of depthwise windows.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/depthwise_bands.h"

namespace pando::kernels::fast {
namespace {

template <int kWindow, int kStride, int kPixels>
inline constexpr int kColumns = (kPixels - 1) * kStride + kWindow;

// Adds the products of a group of pixels of dy with all columns that they meet.
template <int kStride, bool kInside, typename Values, int kPixels, int kRows, int kWindow>
PANDO_INLINE void add_products_of(const SourceRows<kWindow>& source, int first_row,
                                  const Columns& columns, const Values (&dy)[kPixels],
                                  Values (&sums)[kRows][kWindow]) {
  const uint32_t there = kInside ? 0 : columns.bits();
#pragma GCC unroll 16
  for (int a = 0; a < kRows; ++a) {
    if (source.row[first_row + a] == nullptr) continue;
    const float* row = source.row[first_row + a] + columns.first * columns.channels;
#pragma GCC unroll 16
    for (int i = 0; i < kColumns<kWindow, kStride, kPixels>; ++i) {
      if (!kInside && (there >> i & 1) == 0) continue;
      Values value;
      load(row + i * columns.channels, value);
#pragma GCC unroll 16
      for (int p = 0; p < kPixels; ++p) {
        const int b = i - p * kStride;
        if (b >= 0 && b < kWindow) sums[a][b] += value * dy[p];
      }
    }
  }
}

template <int kStride, bool kInside, int kPixels, typename Values, int kRows, int kWindow>
PANDO_INLINE void add_grad_group(const SourceRows<kWindow>& source, int first_row,
                                 const Columns& columns, const float* from,
                                 Values (&sums)[kRows][kWindow]) {
  Values dy[kPixels];
#pragma GCC unroll 16
  for (int p = 0; p < kPixels; ++p) load(from + p * columns.channels, dy[p]);
  add_products_of<kStride, kInside>(source, first_row, columns, dy, sums);
}

// kRows rows of taps from `first_row` on, with their sums in registers.
template <int kStride, typename Values, int kRows, int kWindow>
PANDO_INLINE void add_tap_rows(const GradBand& band, int first_row, int64_t c) {
  constexpr bool kVector = sizeof(Values) > sizeof(float);
  const WindowPlan& plan = band.plan;
  float* dfilter = band.data.dfilter + first_row * kWindow * plan.channels + c;
  Values sums[kRows][kWindow];
#pragma GCC unroll 32
  for (int t = 0; t < kRows * kWindow; ++t) {
    load(dfilter + t * plan.channels, sums[t / kWindow][t % kWindow]);
  }
  RowCursor cursor(plan, band.rows.begin);
  for (int64_t row = band.rows.begin; row < band.rows.end; ++row, cursor.advance()) {
    const SourceRows<kWindow> source(cursor, band.data.x, c);
    const float* dy = band.data.dy + row * plan.width * plan.channels + c;
    Columns columns{-plan.pad_left, plan.source_width, plan.channels};
    for (int64_t left = plan.width; left > 0;) {
      int size = 1;
      if (kVector && left >= 4 && columns.inside(kColumns<kWindow, kStride, 4>)) {
        size = 4;
        add_grad_group<kStride, true, 4>(source, first_row, columns, dy, sums);
      } else if (kVector && left >= 3) {
        size = 3;
        add_grad_group<kStride, false, 3>(source, first_row, columns, dy, sums);
      } else {
        add_grad_group<kStride, false, 1>(source, first_row, columns, dy, sums);
      }
      left -= size;
      columns.first += size * kStride;
      dy += size * plan.channels;
    }
  }
#pragma GCC unroll 32
  for (int t = 0; t < kRows * kWindow; ++t) {
    store(dfilter + t * plan.channels, sums[t / kWindow][t % kWindow]);
  }
}

// Nine sums fit into the registers, twenty-five do not.
template <int kWindow, int kStride, typename Values>
PANDO_INLINE void add_vector(const GradBand& band, int64_t c) {
  if constexpr (kWindow == 3) {
    add_tap_rows<kStride, Values, 3, kWindow>(band, 0, c);
  } else {
    for (int a = 0; a < kWindow; ++a) add_tap_rows<kStride, Values, 1, kWindow>(band, a, c);
  }
}

template <int kWindow, int kStride>
PANDO_AVX512 void add_wide(const GradBand& band, int64_t c) {
  add_vector<kWindow, kStride, WideFloats>(band, c);
}
template <int kWindow, int kStride>
PANDO_AVX2 void add_narrow(const GradBand& band, int64_t c) {
  const int64_t channels = band.plan.channels;
  for (; c + kLanes <= channels; c += kLanes) add_vector<kWindow, kStride, Floats>(band, c);
  for (; c < channels; ++c) add_vector<kWindow, kStride, float>(band, c);
}

struct GradLoops {
  void (*wide)(const GradBand&, int64_t);    // sixteen channels
  void (*narrow)(const GradBand&, int64_t);  // all channels that are left
};

GradLoops grad_loops(const WindowPlan& plan) {
  if (plan.window == 3) {
    return plan.stride == 1 ? GradLoops{add_wide<3, 1>, add_narrow<3, 1>}
                            : GradLoops{add_wide<3, 2>, add_narrow<3, 2>};
  }
  if (plan.stride == 2) return {add_wide<5, 2>, add_narrow<5, 2>};
  return {plan.keeps_width() ? add_grad_strips : add_wide<5, 1>, add_narrow<5, 1>};
}

}  // namespace

void add_grad_band(const GradBand& band) {
  const GradLoops loops = grad_loops(band.plan);
  int64_t c = 0;
  if (band.plan.wide) {
    for (; c + 2 * kLanes <= band.plan.channels; c += 2 * kLanes) loops.wide(band, c);
  }
  loops.narrow(band, c);
}

}  // namespace pando::kernels::fast

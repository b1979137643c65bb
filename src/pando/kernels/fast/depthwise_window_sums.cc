// The sums of depthwise windows: forward, and the input gradient.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/depthwise_bands.h"
#include "pando/kernels/fast/vector_activation.h"

namespace pando::kernels::fast {
namespace {

struct Taps {
  const float* filter;  // the first tap at the first channel
  int64_t step;         // from one tap to the next
};

// Adds the products of all taps, each sum in the order of the taps.
template <int kWindow, int kStride, bool kInside, typename Values, int kPixels>
PANDO_INLINE void add_taps(const SourceRows<kWindow>& source, const Columns& columns,
                           const Taps& taps, Values (&sums)[kPixels]) {
  const uint32_t there = kInside ? 0 : columns.bits();
#pragma GCC unroll 1
  for (int a = 0; a < kWindow; ++a) {
    if (source.row[a] == nullptr) continue;
    const float* row = source.row[a] + columns.first * columns.channels;
    Values filter[kWindow];
#pragma GCC unroll 16
    for (int b = 0; b < kWindow; ++b) load(taps.filter + (a * kWindow + b) * taps.step, filter[b]);
#pragma GCC unroll 16
    for (int i = 0; i < kColumns<kWindow, kStride, kPixels>; ++i) {
      if (!kInside && (there >> i & 1) == 0) continue;
      Values value;
      load(row + i * columns.channels, value);
#pragma GCC unroll 16
      for (int p = 0; p < kPixels; ++p) {
        const int b = i - p * kStride;
        if (b >= 0 && b < kWindow) sums[p] += value * filter[b];
      }
    }
  }
}

struct GroupEnds {
  const float* bias;  // at the first channel; may be null
  NodeActivation activation;
};

template <int kWindow, int kStride, bool kInside, int kPixels, typename Values>
PANDO_INLINE void sum_group(const SourceRows<kWindow>& source, const Columns& columns,
                            const Taps& taps, const GroupEnds& ends, float* y, Values) {
  Values sums[kPixels] = {};
  add_taps<kWindow, kStride, kInside>(source, columns, taps, sums);
  Values bias{};
  if (ends.bias != nullptr) load(ends.bias, bias);
#pragma GCC unroll 16
  for (int p = 0; p < kPixels; ++p) {
    if (ends.bias != nullptr) sums[p] += bias;
    activate_vector(ends.activation, sums[p]);
    store(y + p * columns.channels, sums[p]);
  }
}

// As many channels from c on as Values holds.
template <int kWindow, int kStride, typename Values>
PANDO_INLINE void sum_vector(const SumBand& band, int64_t c) {
  const WindowPlan& plan = band.plan;
  const int64_t last = plan.turned ? kWindow * kWindow - 1 : 0;
  const Taps taps{band.data.filter + last * plan.channels + c,
                  plan.turned ? -plan.channels : plan.channels};
  const GroupEnds ends{band.ends.bias == nullptr ? nullptr : band.ends.bias + c,
                       band.ends.activation};
  constexpr bool kVector = sizeof(Values) > sizeof(float);
  for (int64_t row = band.rows.begin; row < band.rows.end; ++row) {
    const SourceRows<kWindow> source(plan, band.data.x, row, c);
    float* y = band.data.y + row * plan.width * plan.channels + c;
    band.source.fetch();
    band.result.fetch();
    Columns columns{-plan.pad_left, plan.source_width, plan.channels};
    for (int64_t left = plan.width; left > 0;) {
      // Few sizes of groups: each is much code.
      int size = 1;
      if (kVector && left >= 6 && columns.inside(kColumns<kWindow, kStride, 6>)) {
        size = 6;
        sum_group<kWindow, kStride, true, 6>(source, columns, taps, ends, y, Values{});
      } else if (kVector && left >= 6) {
        size = 6;
        sum_group<kWindow, kStride, false, 6>(source, columns, taps, ends, y, Values{});
      } else if (kVector && left >= 3) {
        size = 3;
        sum_group<kWindow, kStride, false, 3>(source, columns, taps, ends, y, Values{});
      } else {
        sum_group<kWindow, kStride, false, 1>(source, columns, taps, ends, y, Values{});
      }
      left -= size;
      columns.first += size * kStride;
      y += size * plan.channels;
    }
  }
}

// A function for an instruction set cannot be a template.
#define PANDO_WINDOW(kWindow, kStride)                                                         \
  PANDO_AVX512 void sum_wide_##kWindow##_##kStride(const SumBand& band, int64_t c) {           \
    sum_vector<kWindow, kStride, WideFloats>(band, c);                                         \
  }                                                                                            \
  PANDO_AVX2 void sum_rest_##kWindow##_##kStride(const SumBand& band, int64_t c) {             \
    const int64_t channels = band.plan.channels;                                               \
    for (; c + kLanes <= channels; c += kLanes) sum_vector<kWindow, kStride, Floats>(band, c); \
    for (; c < channels; ++c) sum_vector<kWindow, kStride, float>(band, c);                    \
  }
PANDO_WINDOW(3, 1)
PANDO_WINDOW(3, 2)
PANDO_WINDOW(5, 1)
PANDO_WINDOW(5, 2)
#undef PANDO_WINDOW

struct SumLoops {
  void (*wide)(const SumBand&, int64_t);
  void (*rest)(const SumBand&, int64_t);
};

SumLoops sum_loops(const WindowPlan& plan) {
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

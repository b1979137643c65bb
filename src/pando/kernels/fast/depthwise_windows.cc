// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/depthwise_windows.h"

#include <algorithm>

#include "pando/kernels/direct/isa_kernels.h"
#include "pando/kernels/fast/activation_loops.h"
#include "pando/kernels/fast/vector_activation.h"
#include "pando/kernels/fast/vectors.h"

namespace pando::kernels::fast {
namespace {

// A band's rows of source and result: a part of a second-level cache.
constexpr int64_t kBandBytes = 256 * 1024;

int64_t band_rows(const WindowPlan& plan) {
  const int64_t bytes = (plan.width + plan.source_width * plan.stride) * plan.channels *
                        static_cast<int64_t>(sizeof(float));
  return std::max<int64_t>(kBandBytes / bytes, 4);
}

// Memory that the next band needs, prefetched line by line while this band is computed. The
// processor does not foresee the order of a band, which takes some channels of all its pixels.
class Ahead {
 public:
  Ahead() = default;
  Ahead(const float* from, int64_t floats, int64_t steps)
      : next_(from), end_(from + floats), step_((floats / steps / kLine + 1) * kLine) {}
  PANDO_INLINE void fetch() {
    const float* stop = next_ + step_ < end_ ? next_ + step_ : end_;
    for (; next_ < stop; next_ += kLine) __builtin_prefetch(next_, 0, 2);
  }

 private:
  static constexpr int64_t kLine = 16;
  const float* next_ = nullptr;
  const float* end_ = nullptr;
  int64_t step_ = 0;
};

// The rows of the source under one row of the result, from some channel on; null: outside.
template <int kWindow>
struct SourceRows {
  PANDO_INLINE SourceRows(const WindowPlan& plan, const float* x, int64_t result_row, int64_t c) {
    const int64_t sample = result_row / plan.height;
    const int64_t first = result_row % plan.height * plan.stride - plan.pad_top;
#pragma GCC unroll 16
    for (int k = 0; k < kWindow; ++k) {
      const bool inside = first + k >= 0 && first + k < plan.source_height;
      const int64_t at = (sample * plan.source_height + first + k) * plan.source_width;
      row[k] = inside ? x + at * plan.channels + c : nullptr;
    }
  }
  const float* row[kWindow];
};

// The columns of the source under a group of pixels.
struct Columns {
  int64_t first;
  int64_t width;  // of the source
  int64_t channels;
  PANDO_INLINE bool inside(int count) const { return first >= 0 && first + count <= width; }
  // Bit i: column i is in the source.
  PANDO_INLINE uint32_t bits() const { return below(width - first) & ~below(-first); }
  PANDO_INLINE static uint32_t below(int64_t count) {
    return (uint32_t{1} << std::clamp<int64_t>(count, 0, 31)) - 1;
  }
};

template <int kWindow, int kStride, int kPixels>
inline constexpr int kColumns = (kPixels - 1) * kStride + kWindow;

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

struct Band {
  const WindowPlan& plan;
  const WindowData& data;
  const WindowEnds& ends;  // the activation is none if it is not applied in registers
  Range rows;
  mutable Ahead source;
  mutable Ahead result;
};

// As many channels from c on as Values holds.
template <int kWindow, int kStride, typename Values>
PANDO_INLINE void sum_band(const Band& band, int64_t c) {
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

template <int kWindow, int kStride>
PANDO_INLINE void sum_all_channels(const Band& band) {
  const int64_t channels = band.plan.channels;
  int64_t c = 0;
  if (band.plan.wide) {
    for (; c + 2 * kLanes <= channels; c += 2 * kLanes) {
      sum_band<kWindow, kStride, WideFloats>(band, c);
    }
  }
  for (; c + kLanes <= channels; c += kLanes) sum_band<kWindow, kStride, Floats>(band, c);
  for (; c < channels; ++c) sum_band<kWindow, kStride, float>(band, c);
}

struct GradBand {
  const WindowPlan& plan;
  const WindowGradData& data;
  Range rows;
};

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
  for (int64_t row = band.rows.begin; row < band.rows.end; ++row) {
    const SourceRows<kWindow> source(plan, band.data.x, row, c);
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
PANDO_INLINE void add_grad_band(const GradBand& band, int64_t c) {
  if constexpr (kWindow == 3) {
    add_tap_rows<kStride, Values, 3, kWindow>(band, 0, c);
  } else {
    for (int a = 0; a < kWindow; ++a) add_tap_rows<kStride, Values, 1, kWindow>(band, a, c);
  }
}

template <int kWindow, int kStride>
PANDO_INLINE void add_all_channels(const GradBand& band) {
  const int64_t channels = band.plan.channels;
  int64_t c = 0;
  if (band.plan.wide) {
    for (; c + 2 * kLanes <= channels; c += 2 * kLanes) {
      add_grad_band<kWindow, kStride, WideFloats>(band, c);
    }
  }
  for (; c + kLanes <= channels; c += kLanes) add_grad_band<kWindow, kStride, Floats>(band, c);
  for (; c < channels; ++c) add_grad_band<kWindow, kStride, float>(band, c);
}

// A multiversioned function cannot be a template.
#define PANDO_WINDOW(kWindow, kStride)                                           \
  PANDO_MULTIVERSION void sum_band_##kWindow##_##kStride(const Band& band) {     \
    sum_all_channels<kWindow, kStride>(band);                                    \
  }                                                                              \
  PANDO_MULTIVERSION void add_band_##kWindow##_##kStride(const GradBand& band) { \
    add_all_channels<kWindow, kStride>(band);                                    \
  }
PANDO_WINDOW(3, 1)
PANDO_WINDOW(3, 2)
PANDO_WINDOW(5, 1)
PANDO_WINDOW(5, 2)
#undef PANDO_WINDOW

void run_band(const Band& band) {
  const WindowPlan& plan = band.plan;
  if (plan.window == 3) return plan.stride == 1 ? sum_band_3_1(band) : sum_band_3_2(band);
  return plan.stride == 1 ? sum_band_5_1(band) : sum_band_5_2(band);
}

void run_grad_band(const GradBand& band) {
  const WindowPlan& plan = band.plan;
  if (plan.window == 3) return plan.stride == 1 ? add_band_3_1(band) : add_band_3_2(band);
  return plan.stride == 1 ? add_band_5_1(band) : add_band_5_2(band);
}

}  // namespace

WindowPlan::WindowPlan(const ConvGeometry& g)
    : batch(g.batch),
      channels(g.in_channels),
      height(g.out[1]),
      width(g.out[2]),
      source_height(g.in[1]),
      source_width(g.in[2]),
      window(g.filter[1]),
      stride(g.stride[1]),
      pad_top(g.pad_low[1]),
      pad_left(g.pad_low[2]),
      wide(direct::choose_isa().lanes >= 16),
      band_rows(fast::band_rows(*this)) {}

WindowPlan WindowPlan::of_input_grad(const ConvGeometry& g) {
  WindowPlan plan(g);
  std::swap(plan.height, plan.source_height);
  std::swap(plan.width, plan.source_width);
  plan.pad_top = plan.window - 1 - plan.pad_top;
  plan.pad_left = plan.window - 1 - plan.pad_left;
  plan.turned = true;
  return plan;
}

bool has_windows(const ConvGeometry& g) {
  const int64_t window = g.filter[1];
  return (window == 3 || window == 5) && g.filter == ConvGeometry::Extents{1, window, window} &&
         g.in[0] == 1 && g.out[0] == 1 && (g.stride[1] == 1 || g.stride[1] == 2) &&
         g.stride[1] == g.stride[2] && g.dilation == ConvGeometry::Extents{1, 1, 1};
}

bool has_input_grad_windows(const ConvGeometry& g) { return has_windows(g) && g.stride[1] == 1; }

namespace {

Band made_band(const WindowPlan& plan, const WindowData& data, const WindowEnds& ends, Range rows) {
  Band band{plan, data, ends, rows, {}, {}};
  if (!plan.is_large()) return band;
  const Range next{rows.end, std::min(rows.end + plan.band_rows, plan.result_rows())};
  const int64_t steps = rows.size() * (plan.channels / (plan.wide ? 2 * kLanes : kLanes) + 1);
  const int64_t source_row = plan.source_width * plan.channels;
  const int64_t result_row = plan.width * plan.channels;
  const int64_t first = plan.source_row(next.begin);
  band.source =
      Ahead(data.x + first * source_row, (plan.source_row(next.end) - first) * source_row, steps);
  band.result = Ahead(data.y + next.begin * result_row, next.size() * result_row, steps);
  return band;
}

}  // namespace

bool WindowPlan::is_large() const {
  constexpr int64_t kLargeFloats = 1 << 19;
  return batch * channels * (height * width + source_height * source_width) > kLargeFloats;
}

void sum_windows(const WindowPlan& plan, const WindowData& data, const WindowEnds& ends,
                 Range rows) {
  WindowEnds in_band = ends;
  if (!in_registers(ends.activation.kind)) in_band.activation = {};
  const int64_t length = plan.width * plan.channels;
  for (int64_t row = rows.begin; row < rows.end; row += plan.band_rows) {
    const Range band{row, std::min(row + plan.band_rows, rows.end)};
    run_band(made_band(plan, data, in_band, band));
    if (in_registers(ends.activation.kind)) continue;
    activate(ends.activation, data.y + band.begin * length, band.size() * length);
  }
}

void add_window_products(const WindowPlan& plan, const WindowGradData& data, Range rows) {
  for (int64_t row = rows.begin; row < rows.end; row += plan.band_rows) {
    run_grad_band({plan, data, {row, std::min(row + plan.band_rows, rows.end)}});
  }
}

}  // namespace pando::kernels::fast

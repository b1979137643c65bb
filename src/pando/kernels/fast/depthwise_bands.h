// What the loops over depthwise windows share: bands of rows, and where a window meets its source.
// Sixteen channels at a time need AVX-512, eight need AVX2; each loop is compiled for its
// instruction set alone. Channels beyond the last vector pass one by one.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "pando/kernels/fast/depthwise_windows.h"
#include "pando/kernels/fast/vector_activation.h"
#include "pando/kernels/fast/vectors.h"

#define PANDO_AVX512 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma")))
#define PANDO_AVX2 __attribute__((target("avx2,fma")))

namespace pando::kernels::fast {

// Memory that the next band needs, prefetched line by line while this band is computed. The
// processor does not foresee the order of a band, which takes some channels of all its pixels.
class Ahead {
 public:
  Ahead() = default;
  Ahead(const float* from, int64_t floats, int64_t steps)
      : next_(from), end_(from + floats), step_((floats / steps / kLine + 1) * kLine) {}
  PANDO_INLINE void fetch(int64_t steps) {
    const float* stop = next_ + steps * step_ < end_ ? next_ + steps * step_ : end_;
    for (; next_ < stop; next_ += kLine) __builtin_prefetch(next_, 0, 2);
  }

 private:
  static constexpr int64_t kLine = 16;
  const float* next_ = nullptr;
  const float* end_ = nullptr;
  int64_t step_ = 0;
};

// Rows of the result, whose channels pass a vector at a time.
struct SumBand {
  // Prefetches for the next band, while one vector of `count` rows is computed.
  PANDO_INLINE void fetch(int64_t count = 1) const {
    if (!fetches) return;
    source.fetch(count);
    result.fetch(count);
  }
  const WindowPlan& plan;
  const WindowData& data;
  const WindowEnds& ends;  // without an activation if it is not applied in registers
  Range rows;
  bool fetches = false;
  mutable Ahead source = {};
  mutable Ahead result = {};
};
struct GradBand {
  const WindowPlan& plan;
  const WindowGradData& data;
  Range rows;
};

void sum_band(const SumBand& band);
void add_grad_band(const GradBand& band);

// Sixteen channels from c on. The first two take what WindowPlan::keeps_width() describes, the
// gradient only windows of 5x5; the last takes what is spread.
PANDO_AVX512 void sum_strips(const SumBand& band, int64_t c);
PANDO_AVX512 void add_grad_strips(const GradBand& band, int64_t c);
PANDO_AVX512 void sum_spread_blocks(const SumBand& band, int64_t c);

// The taps of some channels, one after the other in the order of the sums.
struct Taps {
  PANDO_INLINE Taps(const SumBand& band, int64_t c)
      : filter(band.data.filter + c), step(band.plan.channels) {
    if (!band.plan.turned) return;
    filter += (band.plan.window * band.plan.window - 1) * step;
    step = -step;
  }
  const float* filter;  // the first tap at the first channel
  int64_t step;         // from one tap to the next
};

// A copy of the taps of sixteen channels, side by side. Their addresses are then constants.
class TapCopy {
 public:
  PANDO_INLINE TapCopy(const SumBand& band, int64_t c) {
    const Taps taps(band, c);
    for (int64_t t = 0; t < band.plan.window * band.plan.window; ++t) {
      WideFloats values;
      load(taps.filter + t * taps.step, values);
      store(floats_ + t * kWidthOf<WideFloats>, values);
    }
  }
  const float* data() const { return floats_; }

 private:
  static constexpr int64_t kMostTaps = 25;
  alignas(64) float floats_[kMostTaps * kWidthOf<WideFloats>];
};

// What becomes of sums before they are stored.
struct GroupEnds {
  PANDO_INLINE GroupEnds(const SumBand& band, int64_t c)
      : bias(band.ends.bias == nullptr ? nullptr : band.ends.bias + c),
        activation(band.ends.activation) {}
  template <typename Values, int kCount>
  PANDO_INLINE void finish(Values (&sums)[kCount]) const {
    if (bias != nullptr) {
      Values added;
      load(bias, added);
#pragma GCC unroll 32
      for (int n = 0; n < kCount; ++n) sums[n] += added;
    }
    activate_vectors(activation, sums);
  }
  const float* bias;  // at the first channel; may be null
  NodeActivation activation;
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

// A row of the result: that of the band's begin, then the next ones. Counts, because a division
// takes as long as a group of pixels.
struct RowCursor {
  PANDO_INLINE RowCursor(const WindowPlan& window_plan, int64_t row)
      : plan(window_plan), sample(row / plan.height), h(row % plan.height) {}
  // Requires: `rows` rows are left in the picture.
  PANDO_INLINE void advance(int64_t rows = 1) {
    h += rows;
    if (h < plan.height) return;
    h = 0;
    ++sample;
  }
  const WindowPlan& plan;
  int64_t sample;
  int64_t h;
};

// The rows of the source under one row of the result, from some channel on; null: outside.
template <int kWindow>
struct SourceRows {
  SourceRows() = default;
  PANDO_INLINE SourceRows(const RowCursor& cursor, const float* x, int64_t c) {
    const WindowPlan& plan = cursor.plan;
    const int64_t length = plan.source_width * plan.channels;
    x += cursor.sample * plan.source_height * length + c;
#pragma GCC unroll 16
    for (int k = 0; k < kWindow; ++k) {
      int64_t at = cursor.h * plan.stride - plan.pad_top + k;
      bool inside = at >= 0;
      if (plan.spread) {  // every other row lies between two of the source
        const int64_t fine = cursor.h + plan.pad_top - k;
        at = fine >> 1;
        inside = fine >= 0 && (fine & 1) == 0;
      }
      row[k] = inside && at < plan.source_height ? x + at * length : nullptr;
    }
  }
  PANDO_INLINE bool all_inside() const {
    bool inside = true;
#pragma GCC unroll 16
    for (int k = 0; k < kWindow; ++k) inside = inside && row[k] != nullptr;
    return inside;
  }
  // The `kRows` rows from `first` on.
  template <int kRows>
  PANDO_INLINE SourceRows<kRows> from(int first) const {
    SourceRows<kRows> some;
#pragma GCC unroll 16
    for (int k = 0; k < kRows; ++k) some.row[k] = row[first + k];
    return some;
  }
  const float* row[kWindow];
};

}  // namespace pando::kernels::fast

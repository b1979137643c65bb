// What the loops over depthwise windows share: bands of rows, and where a window meets its source.
// Sixteen channels at a time need AVX-512, eight need AVX2; each loop is compiled for its
// instruction set alone. Channels beyond the last vector pass one by one.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "pando/kernels/fast/depthwise_windows.h"
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

// Rows of the result, whose channels pass a vector at a time.
struct SumBand {
  const WindowPlan& plan;
  const WindowData& data;
  const WindowEnds& ends;  // the activation is none if it is not applied in registers
  Range rows;
  mutable Ahead source;
  mutable Ahead result;
};
struct GradBand {
  const WindowPlan& plan;
  const WindowGradData& data;
  Range rows;
};

void sum_band(const SumBand& band);
void add_grad_band(const GradBand& band);

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
  PANDO_INLINE void advance() {
    if (++h < plan.height) return;
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

// Walks through the elements of a result whose operands may be repeated along some axes (numpy's
// rule), as few and long rows as possible. Operands of equal shapes are one row.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "pando/kernels/fast/support.h"
#include "pando/tensor/shape.h"

namespace pando::kernels::fast {

// `rows` rows of `length` elements, one after the other in the result and in `full`, an operand of
// the shape of the result. The operands advance by `step` from row to row, and by `stride`, 1 or 0,
// within a row.
struct RowRun {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* full = nullptr;  // may be null
  float* y = nullptr;
  int64_t rows = 1;
  int64_t length = 1;
  int64_t step_a = 0;
  int64_t step_b = 0;
  int64_t stride_a = 1;
  int64_t stride_b = 1;
};

class RepeatPlan {
 public:
  // `b_shared`: b has no batch axis.
  RepeatPlan(const Shape& a, const Shape& b, const Shape& result, bool b_shared = false);

  // Calls visit(run) for the part's share of the result. The addresses in `first` are those of
  // whole tensors.
  template <typename Visit>
  void for_each(const Part& part, const RowRun& first, const Visit& visit) const {
    const int64_t chunks = (row_.extent + kChunk - 1) / kChunk;
    const Range mine = share(part, outer_ * rows_.extent * chunks);
    for (int64_t at = mine.begin; at < mine.end;) {
      const int64_t chunk = at % chunks;
      const int64_t row = at / chunks;
      RowRun run = row_run(first, row);
      int64_t units = 0;
      if (chunks == 1) {
        units = std::min(rows_.extent - row % rows_.extent, mine.end - at);
        run.rows = units;
      } else {
        units = std::min(chunks - chunk, mine.end - at);
        const int64_t begin = chunk * kChunk;
        run.a += begin * row_.a;
        run.b += begin * row_.b;
        run.y += begin;
        if (run.full != nullptr) run.full += begin;
        run.length = std::min((chunk + units) * kChunk, row_.extent) - begin;
      }
      visit(run);
      at += units;
    }
  }

 private:
  static constexpr int64_t kChunk = 8192;  // longer rows are cut where parts meet

  struct Axis {
    int64_t extent = 1;
    int64_t a = 0;  // strides of the operands
    int64_t b = 0;
  };
  RowRun row_run(const RowRun& first, int64_t row) const;

  std::vector<Axis> axes_;  // all but the last two
  Axis rows_;
  Axis row_;
  int64_t outer_ = 1;
};

}  // namespace pando::kernels::fast

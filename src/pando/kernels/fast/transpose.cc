// Permutations of axes: rows are copied where the last axis stays the last; otherwise tiles of the
// two axes that are contiguous in the input and in the result are transposed in the cache.
// SPDX-License-Identifier: MIT
#include <cstring>
#include <vector>

#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/fast/vectors.h"

namespace pando::kernels {
namespace {

using fast::Floats;

constexpr int64_t kTile = 8;

struct PermutedAxis {
  int64_t extent = 1;
  int64_t from = 0;  // stride in the input
  int64_t to = 0;    // stride in the result
};

struct TransposePlan {
  TransposePlan(const Shape& x, const ir::Ints& perm) {
    std::vector<PermutedAxis> axes;
    int64_t to = 1;
    for (const int64_t axis : perm) to *= x[static_cast<int>(axis)];
    for (const int64_t axis : perm) {
      const int at = static_cast<int>(axis);
      to /= std::max<int64_t>(x[at], 1);
      if (x[at] == 1) continue;
      const PermutedAxis next{x[at], x.elements_from(at + 1), to};
      if (!axes.empty() && axes.back().from == next.from * next.extent) {
        axes.back() = {axes.back().extent * next.extent, next.from, next.to};
      } else {
        axes.push_back(next);
      }
    }
    if (axes.empty()) axes.push_back({1, 1, 1});
    inner = axes.back();
    axes.pop_back();
    for (size_t i = axes.size(); i-- > 0;) {
      if (inner.from != 1 && axes[i].from != 1) continue;
      rows = axes[i];
      axes.erase(axes.begin() + static_cast<int64_t>(i));
      break;
    }
    outer = std::move(axes);
    for (const PermutedAxis& axis : outer) matrices *= axis.extent;
  }

  std::vector<PermutedAxis> outer;
  PermutedAxis rows;   // contiguous in the input, unless `inner` is
  PermutedAxis inner;  // contiguous in the result
  int64_t matrices = 1;
};

// Transposes 8x8 elements in registers: pairs, then fours, then halves change places.
PANDO_INLINE void transpose_tile(const float* x, int64_t from, float* y, int64_t to) {
  Floats a[8];
  Floats b[8];
  for (int i = 0; i < 8; ++i) fast::load(x + i * from, a[i]);
  for (int i = 0; i < 8; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int half = 0; half < 8; half += 4) {
    for (int i = 0; i < 2; ++i) {
      const Floats& low = b[half + i];
      const Floats& high = b[half + i + 2];
      a[half + 2 * i] = __builtin_shufflevector(low, high, 0, 1, 8, 9, 4, 5, 12, 13);
      a[half + 2 * i + 1] = __builtin_shufflevector(low, high, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int i = 0; i < 4; ++i) {
    fast::store(y + i * to, __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11));
    fast::store(y + (i + 4) * to,
                __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15));
  }
}

// Transposes rows [begin, end) of one matrix.
PANDO_MULTIVERSION void transpose_rows(const TransposePlan& plan, const float* x, float* y,
                                       fast::Range rows) {
  if (plan.inner.from == 1) {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      std::memcpy(y + row * plan.rows.to, x + row * plan.rows.from,
                  static_cast<size_t>(plan.inner.extent) * sizeof(float));
    }
    return;
  }
  for (int64_t row = rows.begin; row < rows.end; row += kTile) {
    const int64_t row_end = row + kTile < rows.end ? row + kTile : rows.end;
    for (int64_t column = 0; column < plan.inner.extent; column += kTile) {
      const int64_t rest = plan.inner.extent - column;
      const int64_t column_end = column + (rest < kTile ? rest : kTile);
      if (row_end - row == kTile && rest >= kTile) {
        transpose_tile(x + row + column * plan.inner.from, plan.inner.from,
                       y + row * plan.rows.to + column, plan.rows.to);
        continue;
      }
      for (int64_t r = row; r < row_end; ++r) {
        const float* from = x + r;
        float* to = y + r * plan.rows.to;
        for (int64_t c = column; c < column_end; ++c) to[c] = from[c * plan.inner.from];
      }
    }
  }
}

}  // namespace

KernelOffer fast_transpose(const ir::Node& node) {
  const TransposePlan plan(node.input(0)->shape(), ops::ints_attribute(node, "perm"));
  const int64_t blocks = (plan.rows.extent + kTile - 1) / kTile;  // of a matrix
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const fast::Range mine = fast::share(step.part, plan.matrices * blocks);
    for (int64_t at = mine.begin; at < mine.end;) {
      const int64_t matrix = at / blocks;
      const int64_t last = std::min(mine.end, (matrix + 1) * blocks);
      const float* x = args.in(0);
      float* y = args.out();
      int64_t rest = matrix;
      for (size_t i = plan.outer.size(); i-- > 0;) {
        const PermutedAxis& axis = plan.outer[i];
        x += rest % axis.extent * axis.from;
        y += rest % axis.extent * axis.to;
        rest /= axis.extent;
      }
      transpose_rows(plan, x, y,
                     {(at - matrix * blocks) * kTile,
                      std::min((last - matrix * blocks) * kTile, plan.rows.extent)});
      at = last;
    }
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels

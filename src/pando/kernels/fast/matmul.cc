// Products of two activations. The columns of the second matrix are packed into panels of one
// vector each, and blocks of rows are multiplied by a panel in registers.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/fast/vectors.h"

namespace pando::kernels {
namespace {

using fast::WideFloats;

constexpr int64_t kPanel = 16;      // columns of a panel
constexpr int64_t kRowsAtOnce = 6;  // rows in registers
constexpr int64_t kUnitRows = 48;   // rows of a unit that parts divide

struct MatMulPlan {
  explicit MatMulPlan(const ir::Node& node) {
    const Shape& a = node.input(0)->shape();
    const Shape& y = node.output()->shape();
    const int rank = y.rank();
    rows = y[rank - 2];
    columns = y[rank - 1];
    transpose_a = ops::int_attribute(node, "transpose_a") == 1;
    transpose_b = ops::int_attribute(node, "transpose_b") == 1;
    inner = a[transpose_a ? rank - 2 : rank - 1];
    matrices = y.elements() / std::max<int64_t>(rows * columns, 1);
    panels = (columns + kPanel - 1) / kPanel;
  }
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t inner = 0;
  int64_t matrices = 0;
  int64_t panels = 0;
  bool transpose_a = false;
  bool transpose_b = false;

  size_t packed_bytes() const {
    return static_cast<size_t>(panels * kPanel * inner) * sizeof(float);
  }
};

// packed[panel][k][column]: columns beyond the last are 0.
void pack_columns(const MatMulPlan& plan, const float* b, float* packed) {
  for (int64_t panel = 0; panel < plan.panels; ++panel) {
    const int64_t first = panel * kPanel;
    const int64_t width = std::min(kPanel, plan.columns - first);
    float* to = packed + panel * kPanel * plan.inner;
    if (width < kPanel) std::fill_n(to, kPanel * plan.inner, 0.0f);
    for (int64_t k = 0; k < plan.inner; ++k) {
      for (int64_t c = 0; c < width; ++c) {
        to[k * kPanel + c] =
            plan.transpose_b ? b[(first + c) * plan.inner + k] : b[k * plan.columns + first + c];
      }
    }
  }
}

// The first matrix by its strides.
struct LeftMatrix {
  const float* at;
  int64_t row;    // from row to row
  int64_t inner;  // from column to column
};

// `kRows` rows times one panel.
template <int kRows>
PANDO_INLINE void multiply_panel(const LeftMatrix& a, const float* panel, int64_t inner, float* y,
                                 int64_t columns, int64_t width) {
  WideFloats sums[kRows] = {};
  for (int64_t k = 0; k < inner; ++k) {
    WideFloats right;
    fast::load(panel + k * kPanel, right);
    const float* left = a.at + k * a.inner;
    for (int row = 0; row < kRows; ++row) sums[row] += right * left[row * a.row];
  }
  for (int row = 0; row < kRows; ++row) {
    float* to = y + row * columns;
    if (width == kPanel) {
      fast::store(to, sums[row]);
    } else {
      for (int64_t c = 0; c < width; ++c) to[c] = sums[row][c];
    }
  }
}

// Computes rows [begin, end) of one matrix.
PANDO_MULTIVERSION void multiply_rows(const MatMulPlan& plan, const float* a, const float* packed,
                                      float* y, fast::Range rows) {
  LeftMatrix left{a, plan.transpose_a ? 1 : plan.inner, plan.transpose_a ? plan.rows : 1};
  for (int64_t panel = 0; panel < plan.panels; ++panel) {
    const float* columns = packed + panel * kPanel * plan.inner;
    const int64_t last = plan.columns - panel * kPanel;
    const int64_t width = last < kPanel ? last : kPanel;
    int64_t row = rows.begin;
    for (; row + kRowsAtOnce <= rows.end; row += kRowsAtOnce) {
      left.at = a + row * left.row;
      multiply_panel<kRowsAtOnce>(left, columns, plan.inner,
                                  y + row * plan.columns + panel * kPanel, plan.columns, width);
    }
    for (; row < rows.end; ++row) {
      left.at = a + row * left.row;
      multiply_panel<1>(left, columns, plan.inner, y + row * plan.columns + panel * kPanel,
                        plan.columns, width);
    }
  }
}

}  // namespace

KernelOffer fast_matmul(const ir::Node& node) {
  const MatMulPlan plan(node);
  const int64_t units = (plan.rows + kUnitRows - 1) / kUnitRows;  // of a matrix
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    auto* packed = reinterpret_cast<float*>(args.scratch);
    const fast::Range mine = fast::share(step.part, plan.matrices * units);
    for (int64_t at = mine.begin; at < mine.end;) {
      const int64_t matrix = at / units;
      const int64_t last = std::min(mine.end, (matrix + 1) * units);
      pack_columns(plan, args.in(1) + matrix * plan.inner * plan.columns, packed);
      multiply_rows(plan, args.in(0) + matrix * plan.rows * plan.inner, packed,
                    args.out() + matrix * plan.rows * plan.columns,
                    {(at - matrix * units) * kUnitRows,
                     std::min((last - matrix * units) * kUnitRows, plan.rows)});
      at = last;
    }
  };
  return offer_function("fast", run, {.splits = true, .scratch_bytes = plan.packed_bytes()});
}

}  // namespace pando::kernels

// What the three products of a dense layer have in common: their blocks, panels and tables.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pando/kernels/direct/direct_dense.h"
#include "pando/kernels/direct/isa_kernels.h"
#include "pando/kernels/divide_up.h"

namespace pando::kernels::direct {

// All rows use one block of the vector operand before the next block is read. A block fills half of
// a 32 KiB first-level cache; the rest is for the other operand.
constexpr int64_t kBlockBytes = 16 * 1024;
// The rows of the weights in use and the rows being prefetched fit into the second-level cache.
constexpr int64_t kOuterBlockBytes = 256 * 1024;
constexpr int64_t kFewestRows = 32;  // with fewer, loading and storing the sums would cost too much
// Features per block of the gradients. A block of the weights, or of their gradient, stays in the
// second-level cache while all panels use it.
constexpr int64_t kBlockFeatures = 64;
// The number of samples that filter_grad sums before it stores the sums.
constexpr int64_t kBlockSamples = 64;

// 0, step, 2 * step, ...
inline std::vector<int32_t> multiples(int64_t count, int64_t step) {
  std::vector<int32_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<int32_t>(i * step));
  return values;
}

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

inline Range share(Part part, int64_t total) { return {part.begin(total), part.end(total)}; }

// Neighbouring columns of a matrix.
struct Panel {
  int64_t first = 0;
  int vectors = 1;
  int64_t width = 0;       // in whole vectors
  int64_t columns = 0;     // columns that exist
  int64_t last_lanes = 0;  // lanes of the last vector that exist
};

inline int64_t panel_count(const IsaKernels& isa, Range vectors) {
  return divide_up(vectors.size(), isa.preferred_vectors);
}

// Cuts a range of vectors of a matrix with `columns` columns evenly into panels.
template <typename Function>
void for_each_panel(const IsaKernels& isa, Range vectors, int64_t columns, Function&& function) {
  const int64_t count = panel_count(isa, vectors);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = vectors.begin + vectors.size() * i / count;
    const int64_t end = vectors.begin + vectors.size() * (i + 1) / count;
    Panel panel{.first = begin * isa.lanes, .vectors = static_cast<int>(end - begin)};
    panel.width = panel.vectors * isa.lanes;
    panel.columns = std::min(panel.width, columns - panel.first);
    panel.last_lanes = panel.columns - (panel.vectors - 1) * isa.lanes;
    function(panel);
  }
}

inline void run_panel(const IsaKernels& isa, const Panel& panel, const PanelArgs& args) {
  isa.panel[panel.vectors - 1](args);
}

struct DensePlan {
  explicit DensePlan(const DenseGeometry& geometry)
      : g(geometry),
        isa(choose_isa()),
        width(isa.preferred_vectors * isa.lanes),
        block(kBlockBytes / (width * int64_t{sizeof(float)})),
        counting(multiples(std::max({block, kBlockFeatures, kBlockSamples}), 1)),
        feature_rows(multiples(g.batch, g.features)),
        unit_rows(multiples(std::max(g.batch, kBlockFeatures), g.units)),
        sample_rows(multiples(g.batch, copied_width())) {}

  int64_t vectors(int64_t columns) const { return divide_up(columns, isa.lanes); }
  int64_t batch_width() const { return round_up(g.batch, isa.lanes); }
  int64_t units_width() const { return round_up(g.units, isa.lanes); }

  // The features in a copied block of x, and the floats in one of its rows.
  int64_t copied_features() const { return std::min(kBlockFeatures, g.features); }
  int64_t copied_width() const { return round_up(copied_features(), isa.lanes); }

  // How the input gradient is computed. dots: by dot products, for batches that leave most lanes of
  // a vector empty. over_samples: with vectors over samples, so that dx comes out transposed.
  // over_features: with vectors over features, which needs the weights transposed; used when that
  // moves less data. The cost is counted in multiply-adds per feature: lanes beyond the batch are
  // wasted, and moving one number costs as much as one vector operation.
  enum class InputGradForm { dots, over_samples, over_features };
  InputGradForm input_grad_form() const {
    if (g.batch <= isa.lanes / 4) return InputGradForm::dots;
    const int64_t over_samples = g.units * batch_width() + g.batch * isa.lanes;
    const int64_t over_features = g.units * (g.batch + isa.lanes);
    return over_samples < over_features ? InputGradForm::over_samples
                                        : InputGradForm::over_features;
  }

  DenseGeometry g;
  const IsaKernels& isa;
  int64_t width;                      // of a panel
  int64_t block;                      // rows of a panel used for all rows before the next block
  std::vector<int32_t> counting;      // 0, 1, 2, ...
  std::vector<int32_t> feature_rows;  // of x
  std::vector<int32_t> unit_rows;     // of dy and the weights
  std::vector<int32_t> sample_rows;   // of a copied block of x
};

}  // namespace pando::kernels::direct

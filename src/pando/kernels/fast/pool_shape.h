// A pooling node as rows of windows.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "pando/kernels/conv_node.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels::fast {

struct PoolShape : PoolNodeGeometry {
  explicit PoolShape(const ir::Node& node) : PoolNodeGeometry(pool_geometry(node)) {}

  int64_t input_rows() const { return batch * in[0] * in[1]; }
  int64_t output_rows() const { return batch * out[0] * out[1]; }

  // The taps of window `at` along an axis that are not padding.
  Range taps(size_t axis, int64_t at) const {
    const int64_t first = at * stride[axis] - pad_low[axis];
    return {std::max<int64_t>(0, -first), std::min(window[axis], in[axis] - first)};
  }
  // The windows along an axis that cover input element `at`.
  Range windows_over(size_t axis, int64_t at) const {
    const int64_t from = at + pad_low[axis] - window[axis];  // last that does not reach `at`
    const int64_t first = from < 0 ? 0 : from / stride[axis] + 1;
    return {first, std::min(out[axis], (at + pad_low[axis]) / stride[axis] + 1)};
  }
  // Whether no two windows share an element.
  bool disjoint() const {
    return window[0] <= stride[0] && window[1] <= stride[1] && window[2] <= stride[2];
  }
};

// The position of one row of pixels in a pooling tensor.
struct RowPlace {
  RowPlace(int64_t row, const PoolShape::Extents& extents)
      : sample(row / (extents[0] * extents[1])),
        depth(row / extents[1] % extents[0]),
        height(row % extents[1]) {}
  int64_t sample;
  int64_t depth;
  int64_t height;
};

}  // namespace pando::kernels::fast

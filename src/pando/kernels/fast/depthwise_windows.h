// Depthwise convolutions of pictures with windows of 3x3 and 5x5, which most networks use: a column
// of the window is read once for all pixels of a group that it belongs to. Pixels beyond the border
// are left out, so nothing is padded.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/kernels/conv_geometry.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/node_activation.h"

namespace pando::kernels::fast {

// y[i][j] = sum over a, b of x[i * stride - pad_top + a][j * stride - pad_left + b] * filter[a][b],
// channel by channel.
struct WindowPlan {
  explicit WindowPlan(const ConvGeometry& geometry);  // that of forward
  // The input gradient. With stride 1 it is a convolution with the turned filter.
  static WindowPlan of_input_grad(const ConvGeometry& geometry);

  int64_t result_rows() const { return batch * height; }
  // The source's row at which the window of a result's row begins, of all samples, not counting
  // the padding.
  int64_t source_row(int64_t row) const {
    const int64_t h = row % height;
    return row / height * source_height + (spread ? h / stride : h * stride);
  }
  // Whether rows of the result are as wide as those of the source, with as much padding before as
  // after: what most layers with stride 1 have.
  bool keeps_width() const {
    return stride == 1 && pad_left == window / 2 && width == source_width && width > 1;
  }
  // Whether source and result together are too large for a second-level cache.
  bool is_large() const;

  int64_t batch = 1;
  int64_t channels = 1;
  int64_t height = 1;  // of the result
  int64_t width = 1;
  int64_t source_height = 1;
  int64_t source_width = 1;
  int64_t window = 3;
  int64_t stride = 1;
  int64_t pad_top = 0;
  int64_t pad_left = 0;
  bool spread = false;    // the input gradient with stride 2: pixels of the source are two apart
  bool turned = false;    // the filter is read from its last tap to its first
  bool wide = false;      // vectors have sixteen numbers, not eight
  int64_t band_rows = 1;  // rows of the result that pass while some of their channels are in cache
};

// Whether the plans can describe the convolution, and the processor has AVX2. Requires: one channel
// per group.
bool has_windows(const ConvGeometry& geometry);

struct WindowEnds {
  const float* bias = nullptr;  // may be null
  NodeActivation activation;
};
struct WindowData {
  const float* x = nullptr;
  const float* filter = nullptr;
  float* y = nullptr;
};
// The rows of the result, which are those of all samples one after the other.
void sum_windows(const WindowPlan& plan, const WindowData& data, const WindowEnds& ends,
                 Range rows);

struct WindowGradData {
  const float* x = nullptr;
  const float* dy = nullptr;
  float* dfilter = nullptr;
};
// Adds the filter gradient of some rows of dy.
void add_window_products(const WindowPlan& plan, const WindowGradData& data, Range rows);

}  // namespace pando::kernels::fast

// The geometry of convolution and pooling nodes, with 2-D treated as 3-D of depth 1.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ir/graph.h"
#include "pando/kernels/conv_geometry.h"

namespace pando::kernels {

// The geometry of the convolution in a conv, conv_input_grad, conv_filter_grad or conv_pool node or
// a gradient of conv_pool. Requires: the node is typed.
ConvGeometry conv_geometry(const ir::Node& node);

// The numbers of one pooling. Every window covers at least one element that is not padding.
struct PoolNodeGeometry {
  using Extents = ConvGeometry::Extents;

  int64_t batch = 1;
  int64_t channels = 1;
  Extents in = {1, 1, 1};
  Extents out = {1, 1, 1};
  Extents window = {1, 1, 1};
  Extents stride = {1, 1, 1};
  Extents pad_low = {0, 0, 0};
  Extents pad_high = {0, 0, 0};

  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  int64_t positions() const { return window[0] * window[1] * window[2]; }
  bool operator==(const PoolNodeGeometry&) const = default;
};

// The geometry of the pooling in a max_pool, avg_pool or conv_pool node or in one of their
// gradients. Requires: the node is typed.
PoolNodeGeometry pool_geometry(const ir::Node& node);

}  // namespace pando::kernels

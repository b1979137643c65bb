// The numbers of one convolution, with 2-D treated as 3-D of depth 1. Tensors are channels-last:
// input [batch, D, H, W, in_channels], filter [kd, kh, kw, in_channels / groups, out_channels].
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

namespace pando::kernels {

struct ConvGeometry {
  using Extents = std::array<int64_t, 3>;  // depth, height, width

  int64_t batch = 1;
  int64_t in_channels = 1;
  int64_t out_channels = 1;
  int64_t groups = 1;
  Extents in = {1, 1, 1};
  Extents out = {1, 1, 1};
  Extents filter = {1, 1, 1};
  Extents stride = {1, 1, 1};
  Extents dilation = {1, 1, 1};
  Extents pad_low = {0, 0, 0};   // zeros before the first element of each axis
  Extents pad_high = {0, 0, 0};  // and after the last; may differ from pad_low

  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return filter[0] * filter[1] * filter[2]; }
  bool operator==(const ConvGeometry&) const = default;
};

}  // namespace pando::kernels

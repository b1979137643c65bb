// Loops that the reference kernels of convolution and pooling share.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/conv_node.h"
#include "pando/kernels/node_activation.h"

namespace pando::kernels {

// The parts of a geometry that for_each_tap needs.
struct TapWalk {
  using Extents = ConvGeometry::Extents;
  Extents in, out, window, stride, dilation, pad_low;

  explicit TapWalk(const ConvGeometry& g)
      : in(g.in),
        out(g.out),
        window(g.filter),
        stride(g.stride),
        dilation(g.dilation),
        pad_low(g.pad_low) {}
  explicit TapWalk(const PoolNodeGeometry& g)
      : in(g.in),
        out(g.out),
        window(g.window),
        stride(g.stride),
        dilation({1, 1, 1}),
        pad_low(g.pad_low) {}
};

// Calls visit(tap, input pixel) for every tap of the window at one output pixel that is not
// padding, in row-major order. Taps and pixels are numbered row-major.
template <typename Visit>
void for_each_tap(const TapWalk& walk, int64_t out_pixel, Visit visit) {
  const TapWalk::Extents at = {out_pixel / walk.out[2] / walk.out[1],
                               out_pixel / walk.out[2] % walk.out[1], out_pixel % walk.out[2]};
  const int64_t taps = walk.window[0] * walk.window[1] * walk.window[2];
  for (int64_t tap = 0; tap < taps; ++tap) {
    const TapWalk::Extents offset = {tap / walk.window[2] / walk.window[1],
                                     tap / walk.window[2] % walk.window[1], tap % walk.window[2]};
    int64_t pixel = 0;
    bool inside = true;
    for (size_t axis = 0; axis < 3; ++axis) {
      const int64_t position =
          at[axis] * walk.stride[axis] - walk.pad_low[axis] + offset[axis] * walk.dilation[axis];
      inside = inside && position >= 0 && position < walk.in[axis];
      pixel = pixel * walk.in[axis] + position;
    }
    if (inside) visit(tap, pixel);
  }
}

// Calls visit(input, filter, output) for every product of the convolution, with the element numbers
// of the three operands within one sample.
template <typename Visit>
void for_each_product(const ConvGeometry& g, Visit visit) {
  const TapWalk walk(g);
  const int64_t group_in = g.in_channels / g.groups;
  const int64_t group_out = g.out_channels / g.groups;
  for (int64_t out_pixel = 0; out_pixel < g.out_pixels(); ++out_pixel) {
    for_each_tap(walk, out_pixel, [&](int64_t tap, int64_t pixel) {
      for (int64_t i = 0; i < group_in; ++i) {
        for (int64_t o = 0; o < g.out_channels; ++o) {
          visit(pixel * g.in_channels + o / group_out * group_in + i,
                (tap * group_in + i) * g.out_channels + o, out_pixel * g.out_channels + o);
        }
      }
    });
  }
}

// Convolves one sample, adds the bias (may be null) and applies the activation.
struct ConvSample {
  const float* x = nullptr;
  const float* filter = nullptr;
  const float* bias = nullptr;
  const float* residual = nullptr;
  float* y = nullptr;
};
void convolve_sample(const ConvGeometry& geometry, const ConvSample& sample,
                     const NodeActivation& activation);

// Max pooling of one sample.
void max_pool_sample(const PoolNodeGeometry& geometry, const float* x, float* y, uint8_t* index);

// The gradient of max_pool_sample, multiplied by the slope of the activation that came before the
// pooling.
struct PoolGradSample {
  const float* dy = nullptr;
  const uint8_t* index = nullptr;
  const float* y = nullptr;  // null: there is no activation
  float* dx = nullptr;
};
void max_pool_grad_sample(const PoolNodeGeometry& geometry, const PoolGradSample& sample,
                          const NodeActivation& activation);

}  // namespace pando::kernels

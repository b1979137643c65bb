// Convolution, its gradients and max pooling as plain loops over channels-last tensors, in double
// precision: tests compare kernels with them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pando/kernels/conv_geometry.h"

namespace pando::test {

using kernels::ConvGeometry;

// Fills in the output extents.
inline ConvGeometry with_outputs(ConvGeometry g) {
  for (size_t i = 0; i < 3; ++i) {
    const int64_t reach = (g.filter[i] - 1) * g.dilation[i] + 1;
    g.out[i] = (g.in[i] + g.pad_low[i] + g.pad_high[i] - reach) / g.stride[i] + 1;
  }
  return g;
}

// Calls visit(x index, kernel index, y index) for every product of the convolution.
template <typename Visit>
void for_each_product(const ConvGeometry& g, Visit&& visit) {
  const int64_t ic_count = g.in_channels / g.groups, oc_count = g.out_channels / g.groups;
  for (int64_t y_pixel = 0; y_pixel < g.batch * g.out_pixels(); ++y_pixel) {
    const int64_t n = y_pixel / g.out_pixels(), at = y_pixel % g.out_pixels();
    const int64_t o[3] = {at / (g.out[1] * g.out[2]), at / g.out[2] % g.out[1], at % g.out[2]};
    for (int64_t tap = 0; tap < g.taps(); ++tap) {
      const int64_t k[3] = {tap / (g.filter[1] * g.filter[2]), tap / g.filter[2] % g.filter[1],
                            tap % g.filter[2]};
      int64_t x_pixel = n;
      bool inside = true;
      for (size_t i = 0; i < 3; ++i) {
        const int64_t p = o[i] * g.stride[i] + k[i] * g.dilation[i] - g.pad_low[i];
        inside = inside && p >= 0 && p < g.in[i];
        x_pixel = x_pixel * g.in[i] + p;
      }
      if (!inside) continue;
      for (int64_t ic = 0; ic < ic_count; ++ic) {
        for (int64_t oc = 0; oc < g.out_channels; ++oc) {
          visit(x_pixel * g.in_channels + oc / oc_count * ic_count + ic,
                (tap * ic_count + ic) * g.out_channels + oc, y_pixel * g.out_channels + oc);
        }
      }
    }
  }
}

inline size_t x_size(const ConvGeometry& g) {
  return static_cast<size_t>(g.batch * g.in_pixels() * g.in_channels);
}
inline size_t y_size(const ConvGeometry& g) {
  return static_cast<size_t>(g.batch * g.out_pixels() * g.out_channels);
}
inline size_t kernel_size(const ConvGeometry& g) {
  return static_cast<size_t>(g.taps() * g.in_channels / g.groups * g.out_channels);
}

inline std::vector<float> rounded(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

inline std::vector<float> naive_forward(const ConvGeometry& g, const std::vector<float>& x,
                                        const std::vector<float>& filter) {
  std::vector<double> y(y_size(g));
  for_each_product(g, [&](size_t i, size_t k, size_t o) { y[o] += double{x[i]} * filter[k]; });
  return rounded(y);
}

inline std::vector<float> naive_backward_input(const ConvGeometry& g, const std::vector<float>& dy,
                                               const std::vector<float>& filter) {
  std::vector<double> dx(x_size(g));
  for_each_product(g, [&](size_t i, size_t k, size_t o) { dx[i] += double{dy[o]} * filter[k]; });
  return rounded(dx);
}

inline std::vector<float> naive_backward_kernel(const ConvGeometry& g, const std::vector<float>& x,
                                                const std::vector<float>& dy) {
  std::vector<double> dk(kernel_size(g));
  for_each_product(g, [&](size_t i, size_t k, size_t o) { dk[k] += double{x[i]} * dy[o]; });
  return rounded(dk);
}

struct Pooled {
  std::vector<float> y;
  std::vector<uint8_t> index;
};

// Max pooling of a [batch, D, H, W, channels] tensor with stride equal to the window.
inline Pooled naive_max_pool(const ConvGeometry& g, const std::vector<float>& y,
                             const ConvGeometry::Extents& window) {
  Pooled pooled;
  const int64_t d = g.out[0] / window[0], h = g.out[1] / window[1], w = g.out[2] / window[2];
  for (int64_t at = 0; at < g.batch * d * h * w * g.out_channels; ++at) {
    const int64_t c = at % g.out_channels, pixel = at / g.out_channels;
    const int64_t o[3] = {pixel / (h * w) % d, pixel / w % h, pixel % w};
    float best = 0;
    int64_t best_at = -1;
    for (int64_t i = 0; i < window[0] * window[1] * window[2]; ++i) {
      const int64_t z = o[0] * window[0] + i / (window[1] * window[2]);
      const int64_t r = o[1] * window[1] + i / window[2] % window[1];
      const int64_t x = o[2] * window[2] + i % window[2];
      const int64_t n = pixel / (d * h * w);
      const float value = y[static_cast<size_t>(
          (((n * g.out[0] + z) * g.out[1] + r) * g.out[2] + x) * g.out_channels + c)];
      if (best_at < 0 || value > best) best = value, best_at = i;
    }
    pooled.y.push_back(best);
    pooled.index.push_back(static_cast<uint8_t>(best_at));
  }
  return pooled;
}

}  // namespace pando::test

// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/finish_pixels.h"

#include "pando/base/multiversion.h"
#include "pando/kernels/fast/activation_loops.h"

namespace pando::kernels::fast {
namespace {

PANDO_MULTIVERSION void add_to_pixels(float* __restrict y, int64_t pixels, int64_t channels,
                                      const float* __restrict bias) {
  for (int64_t p = 0; p < pixels; ++p, y += channels) {
    for (int64_t c = 0; c < channels; ++c) y[c] += bias[c];
  }
}

// Elements that stay in the first-level cache between the two.
constexpr int64_t kFinished = 4096;

}  // namespace

void finish_pixels(float* y, int64_t pixels, int64_t channels, const float* bias,
                   const NodeActivation& activation) {
  if (bias == nullptr && activation.kind == Activation::none) return;
  const int64_t step = channels < kFinished ? kFinished / channels : 1;
  for (int64_t p = 0; p < pixels; p += step) {
    const int64_t count = p + step < pixels ? step : pixels - p;
    float* at = y + p * channels;
    if (bias != nullptr) add_to_pixels(at, count, channels, bias);
    activate(activation, at, count * channels);
  }
}

}  // namespace pando::kernels::fast

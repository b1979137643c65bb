// The maximum of every channel of a sample, sixteen channels at a time, and its gradient. Parts
// divide the samples and, in the gradient, the rows of pixels.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/fast/vectors.h"

namespace pando::kernels {
namespace {

using fast::PixelRows;
using fast::Range;

using WideInt32s = int32_t __attribute__((vector_size(64)));

// A later value wins only if it is greater, or if it is the first NaN.
template <typename Values, typename Indices>
PANDO_INLINE void max_channels(const float* x, int64_t pixels, int64_t channels, float* y,
                               int32_t* index) {
  Values best;
  fast::load(x, best);
  Indices where{};
  for (int64_t p = 1; p < pixels; ++p) {
    Values value;
    fast::load(x + p * channels, value);
    const auto wins = (value > best) | ((value != value) & (best == best));
    best = wins ? value : best;
    where = wins ? Indices{} + static_cast<int32_t>(p) : where;
  }
  fast::store(y, best);
  fast::store(index, where);
}

PANDO_MULTIVERSION void max_samples(const PixelRows& shape, const float* x, float* y,
                                    int32_t* index, Range samples) {
  constexpr int64_t kWideLoad = 2 * fast::kLanes;
  const int64_t channels = shape.channels;
  for (int64_t n = samples.begin; n < samples.end; ++n) {
    const float* from = x + n * shape.pixels * channels;
    float* to = y + n * channels;
    int32_t* at = index + n * channels;
    int64_t c = 0;
    for (; c + kWideLoad <= channels; c += kWideLoad) {
      max_channels<fast::WideFloats, WideInt32s>(from + c, shape.pixels, channels, to + c, at + c);
    }
    for (; c < channels; ++c) {
      max_channels<float, int32_t>(from + c, shape.pixels, channels, to + c, at + c);
    }
  }
}

PANDO_MULTIVERSION void spread_pixels(const PixelRows& shape, const float* dy, const int32_t* index,
                                      float* dx, Range pixels) {
  const int64_t channels = shape.channels;
  for (int64_t pixel = pixels.begin; pixel < pixels.end; ++pixel) {
    const int64_t sample = pixel / shape.pixels * channels;
    const auto here = static_cast<int32_t>(pixel % shape.pixels);
    const float* __restrict from = dy + sample;
    const int32_t* __restrict at = index + sample;
    float* __restrict to = dx + pixel * channels;
    for (int64_t c = 0; c < channels; ++c) to[c] = at[c] == here ? from[c] : 0.0f;
  }
}

}  // namespace

KernelOffer fast_global_max_pool(const ir::Node& node) {
  const PixelRows shape(node.input(0)->shape());
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    max_samples(shape, args.in(0), args.out(0), args.out_as<int32_t>(1),
                fast::share(step.part, shape.batch));
  };
  return offer_function("fast", run, fast::kSplits);
}

KernelOffer fast_global_max_pool_grad(const ir::Node& node) {
  const PixelRows shape(node.output()->shape());
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    spread_pixels(shape, args.in(0), args.in_as<int32_t>(1), args.out(),
                  shape.pixel_share(step.part));
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels

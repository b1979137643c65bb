// Average pooling over windows and over whole samples, with gradients. Parts divide the rows of the
// result, or the channels of whole samples.
// SPDX-License-Identifier: MIT
#include "pando/base/multiversion.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/pool_shape.h"

namespace pando::kernels {
namespace {

using fast::PixelRows;
using fast::PoolShape;
using fast::Range;
using fast::RowPlace;

PANDO_INLINE void add_scaled(float* __restrict to, const float* __restrict from, float factor,
                             int64_t channels) {
  for (int64_t c = 0; c < channels; ++c) to[c] += from[c] * factor;
}

PANDO_MULTIVERSION void avg_rows(const PoolShape& p, const float* x, float* y, Range rows) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const RowPlace place(row, p.out);
    const Range depth = p.taps(0, place.depth);
    const Range height = p.taps(1, place.height);
    for (int64_t o = 0; o < p.out[2]; ++o) {
      const Range width = p.taps(2, o);
      float* to = y + (row * p.out[2] + o) * p.channels;
      std::fill_n(to, p.channels, 0.0f);
      const auto count = static_cast<float>(depth.size() * height.size() * width.size());
      for (int64_t d = depth.begin; d < depth.end; ++d) {
        const int64_t plane = place.sample * p.in[0] + place.depth * p.stride[0] - p.pad_low[0] + d;
        for (int64_t h = height.begin; h < height.end; ++h) {
          const int64_t line = plane * p.in[1] + place.height * p.stride[1] - p.pad_low[1] + h;
          const int64_t first = line * p.in[2] + o * p.stride[2] - p.pad_low[2];
          for (int64_t k = width.begin; k < width.end; ++k) {
            add_scaled(to, x + (first + k) * p.channels, 1.0f / count, p.channels);
          }
        }
      }
    }
  }
}

// Adds one row of windows to a row of dx; `covered` is the number of their taps along depth and
// height.
PANDO_INLINE void spread_row(const PoolShape& p, const float* dy, float* dx, int64_t covered) {
  for (int64_t o = 0; o < p.out[2]; ++o) {
    const Range width = p.taps(2, o);
    const float factor = 1.0f / static_cast<float>(covered * width.size());
    for (int64_t k = width.begin; k < width.end; ++k) {
      add_scaled(dx + (o * p.stride[2] - p.pad_low[2] + k) * p.channels, dy + o * p.channels,
                 factor, p.channels);
    }
  }
}

PANDO_MULTIVERSION void avg_grad_rows(const PoolShape& p, const float* dy, float* dx, Range rows) {
  const int64_t row_elements = p.in[2] * p.channels;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const RowPlace place(row, p.in);
    float* to = dx + row * row_elements;
    std::fill_n(to, row_elements, 0.0f);
    const Range depths = p.windows_over(0, place.depth);
    const Range heights = p.windows_over(1, place.height);
    for (int64_t d = depths.begin; d < depths.end; ++d) {
      for (int64_t h = heights.begin; h < heights.end; ++h) {
        const int64_t windows_row = (place.sample * p.out[0] + d) * p.out[1] + h;
        spread_row(p, dy + windows_row * p.out[2] * p.channels, to,
                   p.taps(0, d).size() * p.taps(1, h).size());
      }
    }
  }
}

// Channels that a part takes at once: whole cache lines, and enough to be worth the walk over all
// pixels.
constexpr int64_t kPieceChannels = 64;

int64_t pieces_of(const PixelRows& shape) {
  return (shape.channels + kPieceChannels - 1) / kPieceChannels;
}

// Adds four pixels at a time to one row of sums. A unit is a piece of the channels of one sample.
PANDO_MULTIVERSION void global_avg(const PixelRows& shape, const float* x, float* y, Range units) {
  const int64_t channels = shape.channels;
  const int64_t pieces = pieces_of(shape);
  const float factor = 1.0f / static_cast<float>(shape.pixels);
  for (int64_t unit = units.begin; unit < units.end;) {
    // All pieces of the sample that the part has.
    const int64_t n = unit / pieces;
    const int64_t end = std::min((n + 1) * pieces, units.end);
    const int64_t first = (unit - n * pieces) * kPieceChannels;
    const int64_t count = std::min((end - n * pieces) * kPieceChannels, channels) - first;
    const float* __restrict from = x + n * shape.pixels * channels + first;
    float* __restrict to = y + n * channels + first;
    std::fill_n(to, count, 0.0f);
    int64_t pixel = 0;
    for (; pixel + 4 <= shape.pixels; pixel += 4) {
      const float* p = from + pixel * channels;
      for (int64_t c = 0; c < count; ++c) {
        to[c] += (p[c] + p[c + channels]) + (p[c + 2 * channels] + p[c + 3 * channels]);
      }
    }
    for (; pixel < shape.pixels; ++pixel) {
      for (int64_t c = 0; c < count; ++c) to[c] += from[pixel * channels + c];
    }
    for (int64_t c = 0; c < count; ++c) to[c] *= factor;
    unit = end;
  }
}

PANDO_MULTIVERSION void global_avg_grad(const PixelRows& shape, const float* dy, float* dx,
                                        Range pixels) {
  const int64_t channels = shape.channels;
  const float factor = 1.0f / static_cast<float>(shape.pixels);
  for (int64_t pixel = pixels.begin; pixel < pixels.end; ++pixel) {
    const float* __restrict from = dy + pixel / shape.pixels * channels;
    float* __restrict to = dx + pixel * channels;
    for (int64_t c = 0; c < channels; ++c) to[c] = from[c] * factor;
  }
}

}  // namespace

KernelOffer fast_avg_pool(const ir::Node& node) {
  const PoolShape p(node);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    avg_rows(p, args.in(0), args.out(), fast::share(step.part, p.output_rows()));
  };
  return offer_function("fast", run, fast::kSplits);
}

KernelOffer fast_avg_pool_grad(const ir::Node& node) {
  const PoolShape p(node);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    avg_grad_rows(p, args.in(0), args.out(), fast::share(step.part, p.input_rows()));
  };
  return offer_function("fast", run, fast::kSplits);
}

KernelOffer fast_global_avg_pool(const ir::Node& node) {
  const PixelRows shape(node.input(0)->shape());
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    global_avg(shape, args.in(0), args.out(),
               fast::share(step.part, shape.batch * pieces_of(shape)));
  };
  return offer_function("fast", run, fast::kSplits);
}

KernelOffer fast_global_avg_pool_grad(const ir::Node& node) {
  const PixelRows shape(node.output()->shape());
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    global_avg_grad(shape, args.in(0), args.out(), shape.pixel_share(step.part));
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels

// Max pooling, eight channels at a time. Parts divide the rows of the result.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/pool_shape.h"
#include "pando/kernels/fast/vectors.h"

namespace pando::kernels {
namespace {

using fast::Floats;
using fast::Int32s;
using fast::PoolShape;
using fast::Range;
using fast::RowPlace;

// One window: its taps, and how far apart in memory they are.
struct Window {
  Range depth;
  Range height;
  Range width;
  int64_t plane;  // elements from one depth to the next
  int64_t row;
  int64_t pixel;
  int32_t positions_plane;  // of the whole window, padding included
  int32_t positions_row;
};

// The maximum over the window for the channels that fit into Values, and its position. A later
// value wins only if it is greater, or if it is the first NaN.
template <typename Values, typename Indices>
PANDO_INLINE void pool_channels(const float* x, const Window& w, float* y, uint8_t* index) {
  Values best;
  fast::load(x + w.depth.begin * w.plane + w.height.begin * w.row + w.width.begin * w.pixel, best);
  const auto first = static_cast<int32_t>(w.depth.begin) * w.positions_plane +
                     static_cast<int32_t>(w.height.begin) * w.positions_row +
                     static_cast<int32_t>(w.width.begin);
  Indices where = Indices{} + first;
  for (int64_t d = w.depth.begin; d < w.depth.end; ++d) {
    for (int64_t h = w.height.begin; h < w.height.end; ++h) {
      for (int64_t k = w.width.begin; k < w.width.end; ++k) {
        Values value;
        fast::load(x + d * w.plane + h * w.row + k * w.pixel, value);
        const auto wins = (value > best) | ((value != value) & (best == best));
        best = wins ? value : best;
        const auto position = static_cast<int32_t>(d) * w.positions_plane +
                              static_cast<int32_t>(h) * w.positions_row + static_cast<int32_t>(k);
        where = wins ? Indices{} + position : where;
      }
    }
  }
  fast::store(y, best);
  fast::store_narrow(index, where);
}

PANDO_INLINE void pool_pixel(const float* x, const Window& w, int64_t channels, float* y,
                             uint8_t* index) {
  int64_t c = 0;
  for (; c + fast::kLanes <= channels; c += fast::kLanes) {
    pool_channels<Floats, Int32s>(x + c, w, y + c, index + c);
  }
  for (; c < channels; ++c) pool_channels<float, int32_t>(x + c, w, y + c, index + c);
}

PANDO_INLINE Window window_of(const PoolShape& p) {
  Window w{};
  w.pixel = p.channels;
  w.row = p.in[2] * p.channels;
  w.plane = p.in[1] * w.row;
  w.positions_row = static_cast<int32_t>(p.window[2]);
  w.positions_plane = static_cast<int32_t>(p.window[1] * p.window[2]);
  return w;
}

// The index of the first element of the window in the row of results at `place`, before the offset
// along the width is added.
PANDO_INLINE int64_t window_origin(const PoolShape& p, const RowPlace& place, const Window& w) {
  return (place.sample * p.in[0] + place.depth * p.stride[0] - p.pad_low[0]) * w.plane +
         (place.height * p.stride[1] - p.pad_low[1]) * w.row;
}

PANDO_MULTIVERSION void pool_rows(const PoolShape& p, const float* x, float* y, uint8_t* index,
                                  Range rows) {
  Window w = window_of(p);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const RowPlace place(row, p.out);
    w.depth = p.taps(0, place.depth);
    w.height = p.taps(1, place.height);
    const int64_t origin = window_origin(p, place, w);
    for (int64_t o = 0; o < p.out[2]; ++o) {
      w.width = p.taps(2, o);
      const int64_t at = (row * p.out[2] + o) * p.channels;
      pool_pixel(x + origin + (o * p.stride[2] - p.pad_low[2]) * w.pixel, w, p.channels, y + at,
                 index + at);
    }
  }
}

// Pools rows with a window size known at compile time, without padding.
template <int64_t depth, int64_t height, int64_t width>
PANDO_INLINE void pool_rows_fixed(const PoolShape& p, const float* x, float* y, uint8_t* index,
                                  Range rows) {
  Window w = window_of(p);
  w.depth = {0, depth};
  w.height = {0, height};
  w.width = {0, width};
  w.positions_row = width;
  w.positions_plane = height * width;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const int64_t origin = window_origin(p, RowPlace(row, p.out), w);
    for (int64_t o = 0; o < p.out[2]; ++o) {
      const int64_t at = (row * p.out[2] + o) * p.channels;
      pool_pixel(x + origin + o * p.stride[2] * w.pixel, w, p.channels, y + at, index + at);
    }
  }
}

PANDO_MULTIVERSION void pool_rows_2x2(const PoolShape& p, const float* x, float* y, uint8_t* index,
                                      Range rows) {
  pool_rows_fixed<1, 2, 2>(p, x, y, index, rows);
}

PANDO_MULTIVERSION void pool_rows_2x2x2(const PoolShape& p, const float* x, float* y,
                                        uint8_t* index, Range rows) {
  pool_rows_fixed<2, 2, 2>(p, x, y, index, rows);
}

using PoolRows = void (*)(const PoolShape&, const float*, float*, uint8_t*, Range);

bool all_taps_inside(const PoolShape& p) {
  for (size_t axis = 0; axis < 3; ++axis) {
    const int64_t last = (p.out[axis] - 1) * p.stride[axis] + p.window[axis];
    if (p.pad_low[axis] != 0 || last > p.in[axis]) return false;
  }
  return true;
}

PoolRows choose_rows(const PoolShape& p) {
  if (!all_taps_inside(p)) return pool_rows;
  if (p.window == PoolShape::Extents{1, 2, 2}) return pool_rows_2x2;
  return p.window == PoolShape::Extents{2, 2, 2} ? pool_rows_2x2x2 : pool_rows;
}

}  // namespace

KernelOffer fast_max_pool(const ir::Node& node) {
  const PoolShape p(node);
  const PoolRows rows = choose_rows(p);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    rows(p, args.in(0), args.out(0), args.out_as<uint8_t>(1),
         fast::share(step.part, p.output_rows()));
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels

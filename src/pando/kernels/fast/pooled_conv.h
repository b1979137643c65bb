// A convolution followed by max pooling, from the view of the backward pass: each element of the
// pooled gradient belongs to one window of the convolution's input, the window that gave the
// maximum.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "pando/kernels/conv_node.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/fast/vectors.h"
#include "pando/kernels/node_activation.h"

namespace pando::kernels::fast {

using WideFloats = float __attribute__((vector_size(64)));
inline constexpr int64_t kWide = 16;

// The inputs of both gradients. `y` is null if there is no activation before the pooling.
struct PooledGradient {
  const float* dy;
  const uint8_t* index;
  const float* y;
  float below;  // the slope where y is not above zero
};

// The part of a window that lies inside the input: rows `a` along depth and `b` along height, and
// floats `l` of each row.
struct Inside {
  Range a, b, l;
};

// Where a row of a window starts, in floats: in x relative to the window, and in a channel's
// filter.
struct WindowRow {
  int32_t in_x;
  int32_t in_filter;
};

// A window is a set of rows of `run` floats each, both in x and in a filter [out][window].
struct PooledConv {
  explicit PooledConv(const ir::Node& node) : conv(conv_geometry(node)), pool(pool_geometry(node)) {
    const int64_t channels = conv.in_channels;
    row_floats = conv.in[2] * channels;
    plane_floats = conv.in[1] * row_floats;
    run = conv.filter[2] * channels;
    rows = conv.filter[0] * conv.filter[1];
    window_floats = rows * run;
    for (int64_t position = 0; position < pool.positions(); ++position) {
      const Extents at = place(position);
      positions.push_back(at);
      offsets.push_back(
          static_cast<int32_t>(at[0] * plane_floats + at[1] * row_floats + at[2] * channels));
    }
    for (int64_t row = 0; row < rows; ++row) {
      row_offsets.push_back(row / conv.filter[1] * plane_floats +
                            row % conv.filter[1] * row_floats);
      window_rows.push_back(
          {static_cast<int32_t>(row_offsets.back()), static_cast<int32_t>(row * run)});
    }
    for (size_t axis = 0; axis < 3; ++axis) {
      field[axis] = pool.window[axis] - 1 + conv.filter[axis];
    }
    field_row = field[2] * channels;
    field_plane = field[1] * field_row;
    for (const Extents& at : positions) {
      field_offsets.push_back(
          static_cast<int32_t>(at[0] * field_plane + at[1] * field_row + at[2] * channels));
    }
    for (int64_t row = 0; row < rows; ++row) {
      field_row_offsets.push_back(row / conv.filter[1] * field_plane +
                                  row % conv.filter[1] * field_row);
    }
  }

  using Extents = ConvGeometry::Extents;

  // Why the fast kernels cannot compute this node; empty if they can.
  std::string refusal() const {
    const Extents ones = {1, 1, 1};
    if (conv.groups != 1 || conv.stride != ones || conv.dilation != ones) {
      return "the convolution is grouped, strided or dilated";
    }
    if (conv.in_pixels() * conv.in_channels > INT32_MAX) return "a sample has too many elements";
    return "";
  }

  // The index in x of the first element of the window that belongs to position 0 of a pooled pixel.
  PANDO_INLINE int64_t first_element(const Extents& pixel) const {
    const int64_t d = pixel[0] * pool.window[0] - conv.pad_low[0];
    const int64_t h = pixel[1] * pool.window[1] - conv.pad_low[1];
    const int64_t w = pixel[2] * pool.window[2] - conv.pad_low[2];
    return d * plane_floats + h * row_floats + w * conv.in_channels;
  }

  // Whether all windows of a pooled pixel lie inside the input.
  PANDO_INLINE bool all_inside(const Extents& pixel) const {
    bool inside = true;
    for (size_t axis = 0; axis < 3; ++axis) {
      const int64_t first = pixel[axis] * pool.window[axis] - conv.pad_low[axis];
      inside = inside && first >= 0 &&
               first + pool.window[axis] - 1 + conv.filter[axis] <= conv.in[axis];
    }
    return inside;
  }

  // The part of a pixel's field that lies inside the planes `depth` of the input.
  PANDO_INLINE Inside field_inside(const Extents& pixel, Range depth) const {
    return box_inside(pixel, {0, 0, 0}, field, depth);
  }

  // The same for its window at `position`.
  PANDO_INLINE Inside inside(const Extents& pixel, const Extents& position, Range depth) const {
    return box_inside(pixel, position, conv.filter, depth);
  }

  PANDO_INLINE bool whole(const Inside& part) const {
    return part.a.size() == conv.filter[0] && part.b.size() == conv.filter[1] &&
           part.l.size() == run;
  }

  ConvGeometry conv;
  PoolNodeGeometry pool;
  int64_t row_floats;
  int64_t plane_floats;
  int64_t run;
  int64_t rows;
  int64_t window_floats;
  std::vector<Extents> positions;      // in a pooling window
  std::vector<int32_t> offsets;        // where their windows start in x, relative to the first
  std::vector<int64_t> row_offsets;    // where the rows of a window start, relative to the window
  std::vector<WindowRow> window_rows;  // the same, and where they start in a filter
  // The field of a pooled pixel: all windows of its positions. A pixel at the edge has a copy of
  // its field with zeros outside the input, in which no window is cut.
  Extents field;
  int64_t field_row;  // floats
  int64_t field_plane;
  int64_t field_floats() const { return field[0] * field_plane; }
  std::vector<int32_t> field_offsets;  // as offsets and row_offsets, within a field
  std::vector<int64_t> field_row_offsets;

 private:
  // The part of a box of the input that begins at `position` of a pixel's field.
  PANDO_INLINE Inside box_inside(const Extents& pixel, const Extents& position, const Extents& box,
                                 Range depth) const {
    const auto cut = [&](size_t axis, Range limits) {
      const int64_t first = pixel[axis] * pool.window[axis] + position[axis] - conv.pad_low[axis];
      return Range{std::clamp<int64_t>(limits.begin - first, 0, box[axis]),
                   std::clamp<int64_t>(limits.end - first, 0, box[axis])};
    };
    const Range w = cut(2, {0, conv.in[2]});
    return {cut(0, depth),
            cut(1, {0, conv.in[1]}),
            {w.begin * conv.in_channels, w.end * conv.in_channels}};
  }

  Extents place(int64_t position) const {
    return {position / pool.window[2] / pool.window[1], position / pool.window[2] % pool.window[1],
            position % pool.window[2]};
  }
};

template <typename Values>
PANDO_INLINE void take_factor(const PooledGradient& from, int64_t at, float* factor) {
  Values dy;
  load(from.dy + at, dy);
  if (from.y != nullptr) {
    Values y;
    load(from.y + at, y);
    const Values below = dy * from.below;
    dy = y > 0 ? dy : below;
  }
  store(factor, dy);
}

// Writes, for each channel of a pooled pixel whose first element is `at`, the gradient of the
// convolution's result at the position of the maximum.
PANDO_INLINE void take_factors(const PooledGradient& from, int64_t at, int64_t channels,
                               float* factors) {
  int64_t o = 0;
  for (; o + kLanes <= channels; o += kLanes) take_factor<Floats>(from, at + o, factors + o);
  for (; o < channels; ++o) take_factor<float>(from, at + o, factors + o);
}

template <typename Values>
PANDO_INLINE void add_scaled_values(float* to, const float* from, float factor) {
  Values sum, values;
  load(to, sum);
  load(from, values);
  sum += factor * values;
  store(to, sum);
}

// to += factor * from, for runs at the edge, which can be short.
PANDO_INLINE void add_scaled(float* to, const float* from, float factor, int64_t count) {
  using Four = float __attribute__((vector_size(16)));
  int64_t i = 0;
  for (; i + kWide <= count; i += kWide) add_scaled_values<WideFloats>(to + i, from + i, factor);
  for (; i + 4 <= count; i += 4) add_scaled_values<Four>(to + i, from + i, factor);
  for (; i < count; ++i) to[i] += factor * from[i];
}

// Visits the pooled pixels of a sample in order.
struct PixelWalk {
  PixelWalk(const PooledConv::Extents& pooled, int64_t pixel)
      : extents(pooled),
        at({pixel / pooled[2] / pooled[1], pixel / pooled[2] % pooled[1], pixel % pooled[2]}) {}
  PANDO_INLINE void next() {
    if (++at[2] < extents[2]) return;
    at[2] = 0;
    if (++at[1] < extents[1]) return;
    at[1] = 0;
    ++at[0];
  }
  PooledConv::Extents extents;
  PooledConv::Extents at;
};

}  // namespace pando::kernels::fast

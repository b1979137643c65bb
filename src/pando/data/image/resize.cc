// Rows are blended first, over all columns that the box needs, which vectorises; then the columns
// of that one row, pixel by pixel, in vectors of four floats whose fourth is ignored.
// SPDX-License-Identifier: MIT
#include "pando/data/image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "pando/base/error.h"
#include "pando/base/multiversion.h"

namespace pando {

namespace {

using Four = float __attribute__((vector_size(16)));

// The two neighbours of a target row or column, and the weight of the second one.
struct Tap {
  int64_t first = 0;
  int64_t second = 0;
  float part = 0;
};

struct Axis {
  double begin;   // of the box
  double extent;  // of the box
  int64_t count;  // of the target
  int64_t size;   // of the image
  bool look_beyond_box;
};

std::vector<Tap> make_taps(const Axis& axis) {
  const int64_t least = axis.look_beyond_box ? 0 : static_cast<int64_t>(std::floor(axis.begin));
  const int64_t most =
      axis.look_beyond_box
          ? axis.size - 1
          : std::min(static_cast<int64_t>(std::ceil(axis.begin + axis.extent)), axis.size) - 1;
  std::vector<Tap> taps(static_cast<size_t>(axis.count));
  const double step = axis.extent / static_cast<double>(axis.count);
  for (int64_t i = 0; i < axis.count; ++i) {
    const double at = axis.begin + (static_cast<double>(i) + 0.5) * step - 0.5;
    const auto below = static_cast<int64_t>(std::floor(at));
    taps[static_cast<size_t>(i)] = {std::clamp(below, least, most),
                                    std::clamp(below + 1, least, most),
                                    static_cast<float>(at - static_cast<double>(below))};
  }
  return taps;
}

PANDO_MULTIVERSION void blend_rows(const uint8_t* __restrict first,
                                   const uint8_t* __restrict second, float part,
                                   float* __restrict to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const int from = first[i];
    to[i] = static_cast<float>(from) + static_cast<float>(second[i] - from) * part;
  }
}

PANDO_INLINE Four load_four(const float* from) {
  Four values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

PANDO_INLINE Four blend_pixel(const float* row, const Tap& tap) {
  const Four first = load_four(row + tap.first);
  return first + (load_four(row + tap.second) - first) * tap.part;
}

// The fourth float of a pixel is overwritten by the next pixel; the last pixel has no room for it.
PANDO_MULTIVERSION void blend_columns(const float* row, const Tap* taps, size_t count,
                                      const ChannelMap& map, float* to) {
  const Four scale = load_four(map.scale.data());
  const Four shift = load_four(map.shift.data());
  for (size_t i = 0; i + 1 < count; ++i) {
    const Four values = blend_pixel(row, taps[i]) * scale + shift;
    std::memcpy(to + 3 * i, &values, sizeof values);
  }
  const Four last = blend_pixel(row, taps[count - 1]) * scale + shift;
  std::memcpy(to + 3 * (count - 1), &last, 3 * sizeof(float));
}

PANDO_MULTIVERSION void blend_columns(const float* row, const Tap* taps, size_t count,
                                      uint8_t* to) {
  for (size_t i = 0; i < count; ++i) {
    const Four values = blend_pixel(row, taps[i]);
    for (size_t c = 0; c < 3; ++c) to[3 * i + c] = static_cast<uint8_t>(values[c]);
  }
}

void check(const ResizeRequest& request, const PixelTarget& to) {
  const ImageSize& image = request.image.size;
  const RealBox& box = request.box;
  if (request.image.channels != 3) {
    throw InvalidArgument("resize: ", request.image.channels, " channels, expected 3");
  }
  // A box that ends at the edge may have been rounded a little beyond it.
  const auto fits = [](double begin, double extent, int64_t size) {
    return begin >= 0 && extent > 0 && begin + extent <= static_cast<double>(size) + 1e-6;
  };
  if (!fits(box.y, box.height, image.height) || !fits(box.x, box.width, image.width)) {
    throw InvalidArgument("resize: box ", box.height, "x", box.width, " at ", box.y, ", ", box.x,
                          " is not inside the image of ", image);
  }
  if (request.size.height < 1 || request.size.width < 1 ||
      to.elements() != static_cast<size_t>(request.size.pixels() * 3)) {
    throw InvalidArgument("resize: ", to.elements(), " elements to write to, expected ",
                          request.size, " pixels of 3 channels");
  }
}

}  // namespace

void resize_bilinear(const ResizeRequest& request, const PixelTarget& to) {
  check(request, to);
  const ImageView& image = request.image;
  const bool beyond = request.look_beyond_box;
  const std::vector<Tap> rows = make_taps(
      {request.box.y, request.box.height, request.size.height, image.size.height, beyond});
  std::vector<Tap> columns =
      make_taps({request.box.x, request.box.width, request.size.width, image.size.width, beyond});
  const int64_t begin = columns.front().first;
  const int64_t end = columns.back().second + 1;
  for (Tap& column : columns) {
    column.first = 3 * (column.first - begin);
    column.second = 3 * (column.second - begin);
  }
  if (request.flip) std::reverse(columns.begin(), columns.end());
  const auto needed = static_cast<size_t>(3 * (end - begin));
  std::vector<float> blended(needed + 1);  // one more for the fourth float of the last pixel
  const size_t stride = 3 * columns.size();
  for (size_t y = 0; y < rows.size(); ++y) {
    const Tap& row = rows[y];
    blend_rows(image.row(row.first) + 3 * begin, image.row(row.second) + 3 * begin, row.part,
               blended.data(), needed);
    if (to.f32.empty()) {
      blend_columns(blended.data(), columns.data(), columns.size(), to.u8.data() + y * stride);
    } else {
      blend_columns(blended.data(), columns.data(), columns.size(), to.map,
                    to.f32.data() + y * stride);
    }
  }
}

}  // namespace pando

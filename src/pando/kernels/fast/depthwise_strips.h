// Pictures whose width a window of stride 1 keeps, cut into strips of up to eight pixels. The
// compiler knows which columns of a strip's windows are padding, so no loop asks for them, and no
// pixel passes alone. For sixteen channels at a time, because the 32 registers of AVX-512 hold the
// sums of several rows.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/fast/depthwise_bands.h"

namespace pando::kernels::fast {

// Which ends of a row a strip has.
enum class StripEnds { none, left, right, both };

template <int window, int pixels, StripEnds kEnds>
struct StripShape {
  static constexpr int kWindow = window;
  static constexpr int kPixels = pixels;
  static constexpr int kPadding = window / 2;
  static constexpr bool kLeft = kEnds == StripEnds::left || kEnds == StripEnds::both;
  static constexpr bool kRight = kEnds == StripEnds::right || kEnds == StripEnds::both;
  // Columns that are in the source, counted from the first tap of the first pixel.
  static constexpr int kFirst = kLeft ? kPadding : 0;
  static constexpr int kEnd = pixels + window - 1 - (kRight ? kPadding : 0);
};

// Cuts a row into the fewest strips possible; their widths differ by one at most.
struct StripCut {
  static constexpr int kMostPixels = 8;
  static constexpr int kLeastPixels = 4;  // of a strip that does not have both ends

  explicit StripCut(int64_t row_width)
      : width(row_width), count((row_width + kMostPixels - 1) / kMostPixels) {}
  int64_t first(int64_t strip) const { return width * strip / count; }
  int64_t pixels(int64_t strip) const { return first(strip + 1) - first(strip); }
  StripEnds ends(int64_t strip) const {
    if (count == 1) return StripEnds::both;
    if (strip == 0) return StripEnds::left;
    return strip + 1 == count ? StripEnds::right : StripEnds::none;
  }
  int64_t width;
  int64_t count;
};

// Picks the function of a strip: Functions::of<kPixels, ends>().
template <typename Functions, int kPixels>
auto strip_function(StripEnds ends) {
  if constexpr (kPixels >= StripCut::kLeastPixels) {
    switch (ends) {
      case StripEnds::none: return Functions::template of<kPixels, StripEnds::none>();
      case StripEnds::left: return Functions::template of<kPixels, StripEnds::left>();
      case StripEnds::right: return Functions::template of<kPixels, StripEnds::right>();
      case StripEnds::both: break;
    }
  }
  return Functions::template of<kPixels, StripEnds::both>();
}
template <typename Functions>
auto strip_function(int64_t pixels, StripEnds ends) {
  switch (pixels) {
    case 2: return strip_function<Functions, 2>(ends);
    case 3: return strip_function<Functions, 3>(ends);
    case 4: return strip_function<Functions, 4>(ends);
    case 5: return strip_function<Functions, 5>(ends);
    case 6: return strip_function<Functions, 6>(ends);
    case 7: return strip_function<Functions, 7>(ends);
    default: return strip_function<Functions, 8>(ends);
  }
}

// The source's rows under some rows of the result, from the first tap of a strip on. The first and
// the last ones may be outside of the picture.
struct StripSource {
  PANDO_INLINE StripSource(const RowCursor& cursor, const float* x, int64_t column, int64_t c)
      : at(cursor.h - cursor.plan.pad_top),
        height(cursor.plan.source_height),
        length(cursor.plan.source_width * cursor.plan.channels),
        first(x + (cursor.sample * height + at) * length + column * cursor.plan.channels + c) {}
  PANDO_INLINE bool has(int row) const {
    return static_cast<uint64_t>(at + row) < static_cast<uint64_t>(height);
  }
  PANDO_INLINE const float* row(int number) const { return first + number * length; }

  int64_t at;
  int64_t height;
  int64_t length;
  const float* first;
};

}  // namespace pando::kernels::fast

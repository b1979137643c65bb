// Places are numbers of 16 bits after the point, so that a step along a row is an addition and
// every processor finds the same pixels.
// SPDX-License-Identifier: MIT
#include "pando/data/image/warp.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pando/base/error.h"
#include "pando/data/image/mask.h"

namespace pando {

namespace {

constexpr int kFractionBits = 16;
constexpr int64_t kOne = int64_t{1} << kFractionBits;
constexpr int64_t kLongestSide = 32767;

int64_t to_fixed(double value) {
  return static_cast<int64_t>(std::floor(value * static_cast<double>(kOne) + 0.5));
}

// The places that the pixels of a row show, one after the other.
struct RowPlaces {
  int64_t x = 0;
  int64_t y = 0;
  int64_t x_step = 0;
  int64_t y_step = 0;

  RowPlaces(const AffineMap& map, int64_t row) {
    const auto& a = map.a;
    x = to_fixed(a[2] + 0.5 * a[0] + 0.5 * a[1]) + row * to_fixed(a[1]);
    y = to_fixed(a[5] + 0.5 * a[3] + 0.5 * a[4]) + row * to_fixed(a[4]);
    x_step = to_fixed(a[0]);
    y_step = to_fixed(a[3]);
  }
  void step() {
    x += x_step;
    y += y_step;
  }
  bool inside(const ImageSize& size) const {
    return x >= 0 && y >= 0 && x < size.width * kOne && y < size.height * kOne;
  }
};

// A place between the centres of two pixels: the first of them, the second, and its weight.
struct Between {
  int64_t first = 0;
  int64_t second = 0;
  float part = 0;

  Between(int64_t place, int64_t count) {
    const int64_t from_centre = place - kOne / 2;
    const int64_t below = from_centre >> kFractionBits;
    first = std::max<int64_t>(below, 0);
    second = std::min(below + 1, count - 1);
    part = static_cast<float>(from_centre - below * kOne) * (1.0f / static_cast<float>(kOne));
  }
};

// Computes one pixel of the result. The compiler unrolls the loop if the number of channels is a
// constant; 0: any number.
template <int channels>
struct NearestPixel {
  static void write(const ImageView& from, const RowPlaces& at, uint8_t* to) {
    const int64_t each = channels > 0 ? channels : from.channels;
    const uint8_t* pixel = from.row(at.y >> kFractionBits) + (at.x >> kFractionBits) * each;
    std::memcpy(to, pixel, static_cast<size_t>(each));
  }
};

template <int channels>
struct BlendedPixel {
  static void write(const ImageView& from, const RowPlaces& at, uint8_t* to) {
    const Between column(at.x, from.size.width);
    const Between row(at.y, from.size.height);
    const uint8_t* upper = from.row(row.first);
    const uint8_t* lower = from.row(row.second);
    const int64_t each = channels > 0 ? channels : from.channels;
    const int64_t left = column.first * each;
    const int64_t right = column.second * each;
    for (int64_t c = 0; c < each; ++c) {
      const auto along = [&](const uint8_t* pixels) {
        const auto first = static_cast<float>(pixels[left + c]);
        return first + (static_cast<float>(pixels[right + c]) - first) * column.part;
      };
      const float above = along(upper);
      const float half_more = above + (along(lower) - above) * row.part + 0.5f;
      to[c] = static_cast<uint8_t>(half_more);
    }
  }
};

template <typename Pixel>
void warp_rows(const ImageView& from, const AffineMap& map, const uint8_t* border, Image& to) {
  const auto bytes = static_cast<size_t>(from.channels);
  for (int64_t y = 0; y < from.size.height; ++y) {
    uint8_t* pixel = to.row(y);
    RowPlaces at(map, y);
    for (int64_t x = 0; x < from.size.width; ++x, at.step(), pixel += bytes) {
      if (at.inside(from.size)) {
        Pixel::write(from, at, pixel);
      } else {
        std::memcpy(pixel, border, bytes);
      }
    }
  }
}

void check(const ImageSize& size, int64_t channels) {
  if (channels < 1 || channels > 4) {
    throw InvalidArgument("warp: ", channels, " channels, expected 1 to 4");
  }
  if (size.height > kLongestSide || size.width > kLongestSide) {
    throw InvalidArgument("warp: image of ", size, ", expected sides of at most ", kLongestSide);
  }
}

}  // namespace

AffineMap rotation_map(const ImageSize& size, double degrees) {
  constexpr double kPi = 3.14159265358979323846;
  const double x = static_cast<double>(size.width) / 2;
  const double y = static_cast<double>(size.height) / 2;
  // Quarter turns are exact: a sine of 1e-16 would move a place over the edge of a pixel.
  const auto exact = [](double value) { return std::round(value * 1e15) / 1e15; };
  const double cosine = exact(std::cos(-degrees * kPi / 180));
  const double sine = exact(std::sin(-degrees * kPi / 180));
  return {{cosine, sine, x - cosine * x - sine * y, -sine, cosine, y + sine * x - cosine * y}};
}

AffineMap shear_x_map(const ImageSize& size, double amount) {
  return {{1, amount, -amount * static_cast<double>(size.height) / 2, 0, 1, 0}};
}

AffineMap shear_y_map(const ImageSize& size, double amount) {
  return {{1, 0, 0, amount, 1, -amount * static_cast<double>(size.width) / 2}};
}

AffineMap translation_map(double x, double y) { return {{1, 0, -x, 0, 1, -y}}; }

void warp(const ImageView& from, const AffineMap& map, Sampling sampling,
          const std::array<uint8_t, 4>& border, Image& to) {
  check(from.size, from.channels);
  to.reset(from.size, from.channels);
  const auto run = [&](auto rows) { rows(from, map, border.data(), to); };
  if (sampling == Sampling::nearest) {
    run(from.channels == 3 ? warp_rows<NearestPixel<3>> : warp_rows<NearestPixel<0>>);
  } else if (from.channels == 3) {
    run(warp_rows<BlendedPixel<3>>);
  } else {
    run(from.channels == 1 ? warp_rows<BlendedPixel<1>> : warp_rows<BlendedPixel<0>>);
  }
}

void warp_mask(std::span<const int32_t> from, const ImageSize& size, const AffineMap& map,
               std::span<int32_t> to) {
  check(size, 1);
  size_t i = 0;
  for (int64_t y = 0; y < size.height; ++y) {
    RowPlaces at(map, y);
    for (int64_t x = 0; x < size.width; ++x, at.step(), ++i) {
      const int64_t place = (at.y >> kFractionBits) * size.width + (at.x >> kFractionBits);
      to[i] = at.inside(size) ? from[static_cast<size_t>(place)] : kNotLabelled;
    }
  }
}

}  // namespace pando

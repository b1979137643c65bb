// Pictures in memory: 8 bits a channel, row after row, the channels of a pixel side by side.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

namespace pando {

struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;

  int64_t pixels() const { return height * width; }
  bool operator==(const ImageSize&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const ImageSize& size) {
  return out << size.height << 'x' << size.width;
}

// A rectangle of whole pixels: rows [y, y + height), columns [x, x + width).
struct PixelBox {
  int64_t y = 0;
  int64_t x = 0;
  int64_t height = 0;
  int64_t width = 0;

  ImageSize size() const { return {height, width}; }
  bool inside(const ImageSize& image) const {
    return y >= 0 && x >= 0 && height >= 1 && width >= 1 && height <= image.height - y &&
           width <= image.width - x;
  }
  bool operator==(const PixelBox&) const = default;
};

inline PixelBox whole(const ImageSize& size) { return {0, 0, size.height, size.width}; }

inline std::ostream& operator<<(std::ostream& out, const PixelBox& box) {
  return out << box.size() << " at row " << box.y << ", column " << box.x;
}

// A rectangle with its edges anywhere between the pixels; pixel i covers [i, i + 1).
struct RealBox {
  double y = 0;
  double x = 0;
  double height = 0;
  double width = 0;
};

inline RealBox real(const PixelBox& box) {
  return {static_cast<double>(box.y), static_cast<double>(box.x), static_cast<double>(box.height),
          static_cast<double>(box.width)};
}

// A view of pixels without gaps; it owns nothing.
struct ImageView {
  const uint8_t* pixels = nullptr;
  ImageSize size;
  int64_t channels = 3;

  const uint8_t* row(int64_t y) const { return pixels + y * size.width * channels; }
  size_t bytes() const { return static_cast<size_t>(size.pixels() * channels); }
};

struct Image {
  ImageSize size;
  int64_t channels = 3;
  std::vector<uint8_t> pixels;

  Image() = default;
  explicit Image(const ImageSize& image_size, int64_t image_channels = 3) {
    reset(image_size, image_channels);
  }
  // Changes the shape and keeps the memory; the values of the pixels are unspecified afterwards.
  void reset(const ImageSize& image_size, int64_t image_channels = 3) {
    size = image_size;
    channels = image_channels;
    pixels.resize(static_cast<size_t>(size.pixels() * channels));
  }
  ImageView view() const { return {pixels.data(), size, channels}; }
  uint8_t* row(int64_t y) { return pixels.data() + y * size.width * channels; }
};

}  // namespace pando

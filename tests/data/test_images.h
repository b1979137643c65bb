// Makes pictures and valid or invalid image files for the tests that read images.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "pando/data/image/image.h"
#include "pando/data/image/jpeg.h"
#include "tests/data/idx_files.h"

namespace pando {

// Soft shapes with a fine pattern, so that every row and column differs.
inline Image soft_image(const ImageSize& size, int64_t channels = 3) {
  Image image(size, channels);
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < size.width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        const double wave = std::sin(0.07 * static_cast<double>(y + 5 * c)) *
                            std::cos(0.05 * static_cast<double>(x - 9 * c));
        const auto fine = static_cast<double>((x * 7 + y * 13 + c * 5) % 17);
        image.row(y)[x * channels + c] = static_cast<uint8_t>(110 + 90 * wave + fine);
      }
    }
  }
  return image;
}

inline Bytes read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline int largest_difference(const Bytes& a, const Bytes& b) {
  if (a.size() != b.size()) return 1000;
  int largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

// A JPEG file whose EXIF data ask for a quarter turn to the right: its left edge becomes the top.
inline Bytes turned_jpeg(Bytes jpeg) {
  const Bytes exif = {0xff, 0xe1, 0, 34,   'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8,
                      0,    1,    1, 0x12, 0,   3,   0,   0,   0, 1, 0,   6,   0, 0,  0, 0, 0, 0};
  jpeg.insert(jpeg.begin() + 2, exif.begin(), exif.end());
  return jpeg;
}

}  // namespace pando

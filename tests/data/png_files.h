// Makes PNG files of kinds that encode_png() does not write.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "tests/data/idx_files.h"

namespace pando {

struct RawPng {
  uint32_t height = 0;
  uint32_t width = 0;
  uint8_t depth = 8;   // bits of a number
  uint8_t colour = 0;  // 0 grey, 2 RGB, 3 palette, 4 grey with alpha, 6 RGB with alpha
  Bytes rows;          // packed, without filter bytes
};

inline void add_png_chunk(Bytes& file, const std::string& name, const Bytes& content) {
  const auto number = [&](uint32_t value) {
    for (const int shift : {24, 16, 8, 0}) file.push_back(static_cast<uint8_t>(value >> shift));
  };
  number(static_cast<uint32_t>(content.size()));
  const size_t at = file.size();
  file.insert(file.end(), name.begin(), name.end());
  file.insert(file.end(), content.begin(), content.end());
  number(static_cast<uint32_t>(crc32(0, file.data() + at, static_cast<uInt>(file.size() - at))));
}

// A palette has 256 colours, none of which is its own place.
inline Bytes png_file(const RawPng& png) {
  Bytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  Bytes header;
  for (const uint32_t side : {png.width, png.height}) {
    for (const int shift : {24, 16, 8, 0}) header.push_back(static_cast<uint8_t>(side >> shift));
  }
  header.insert(header.end(), {png.depth, png.colour, 0, 0, 0});
  add_png_chunk(file, "IHDR", header);
  if (png.colour == 3) {
    Bytes palette;
    for (int i = 0; i < 1 << png.depth; ++i) {
      palette.insert(palette.end(),
                     {static_cast<uint8_t>(200 - i), 17, static_cast<uint8_t>(3 * i)});
    }
    add_png_chunk(file, "PLTE", palette);
  }
  const size_t stride = png.rows.size() / png.height;
  Bytes filtered;
  for (size_t y = 0; y < png.height; ++y) {
    filtered.push_back(0);
    const auto row = png.rows.begin() + static_cast<std::ptrdiff_t>(y * stride);
    filtered.insert(filtered.end(), row, row + static_cast<std::ptrdiff_t>(stride));
  }
  uLongf count = compressBound(static_cast<uLong>(filtered.size()));
  Bytes packed(count);
  compress(packed.data(), &count, filtered.data(), static_cast<uLong>(filtered.size()));
  packed.resize(count);
  add_png_chunk(file, "IDAT", packed);
  add_png_chunk(file, "IEND", {});
  return file;
}

}  // namespace pando

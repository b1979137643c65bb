// JPEG by libjpeg-turbo; only jpeg.cc and jpeg_encode.cc include its headers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pando/data/image/decode.h"

namespace pando {

struct JpegOptions {
  int quality = 90;  // 1 to 100
  bool progressive = false;
  bool full_colour =
      false;  // keeps the colour of every pixel (4:4:4) instead of one of 2x2 (4:2:0)
};

// A JPEG file of an image with one channel or three. Throws InvalidArgument for another image or
// quality.
std::vector<uint8_t> encode_jpeg(const ImageView& image, const JpegOptions& options = {});

namespace data {

class PixelReader;

bool looks_like_jpeg(std::span<const uint8_t> bytes);
std::unique_ptr<PixelReader> open_jpeg(std::span<const uint8_t> bytes, const std::string& place,
                                       const DecodeLimits& limits);

}  // namespace data
}  // namespace pando

// PNG by libpng; only png.cc includes its header.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pando/data/image/decode.h"

namespace pando {

// A PNG file of an image with one channel or three. Throws InvalidArgument for another image.
std::vector<uint8_t> encode_png(const ImageView& image);

namespace data {

class PixelReader;

bool looks_like_png(std::span<const uint8_t> bytes);
std::unique_ptr<PixelReader> open_png(std::span<const uint8_t> bytes, const std::string& place,
                                      const DecodeLimits& limits);
// The stored numbers of a PNG with one number for each pixel, as an image of one channel: grey
// values of up to 8 bits, unscaled, or places in the palette. Throws IoError, also for other PNGs.
void read_png_numbers(std::span<const uint8_t> bytes, const std::string& place,
                      const DecodeLimits& limits, Image& into);

}  // namespace data
}  // namespace pando

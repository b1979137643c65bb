// Reads any bytes as an image: whole, in part and shrunk. Expects pixels or one of our errors.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "pando/base/error.h"
#include "pando/data/image/resize.h"
#include "pando/data/image/views.h"

namespace pando::fuzz {

// A box of the image, chosen by the last bytes of the input.
inline PixelBox chosen_box(std::span<const uint8_t> input, const ImageSize& image) {
  const auto byte = [&](size_t from_end) {
    return input.size() > from_end ? int64_t{input[input.size() - 1 - from_end]} : 0;
  };
  const int64_t y = byte(0) * image.height / 256;
  const int64_t x = byte(1) * image.width / 256;
  return {y, x, 1 + byte(2) * (image.height - y - 1) / 255,
          1 + byte(3) * (image.width - x - 1) / 255};
}

inline void read_image(std::span<const uint8_t> input) {
  try {
    ImageReader reader(input, "input", {.max_pixels = 1 << 18});
    const RegionRequest request = {
        .box = chosen_box(input, reader.size()), .target = {8, 8}, .may_shrink = true};
    Image pixels;
    const RealBox box = reader.read_region(request, pixels);
    uint8_t view[8 * 8 * 3];
    resize_bilinear({.image = pixels.view(), .box = box, .size = {8, 8}}, PixelTarget(view));
    reader.read(pixels);
    PANDO_CHECK(pixels.size == reader.size() && pixels.channels == 3);
  } catch (const IoError&) {
  } catch (const Unsupported&) {
  }
}

}  // namespace pando::fuzz

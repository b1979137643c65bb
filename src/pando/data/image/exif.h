// The orientation of a photograph: how the pixels of its file have to be turned for people to see
// them upright. Cameras store it as EXIF data.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "pando/data/image/image.h"

namespace pando::data {

// How stored pixels become upright ones: stored rows or columns are read backwards, then rows and
// columns are exchanged. The eight values of EXIF are all there is.
struct Turn {
  bool flip_rows = false;
  bool flip_columns = false;
  bool transpose = false;

  bool operator==(const Turn&) const = default;
};

// The turn of an EXIF orientation; none for numbers other than 1 to 8.
Turn turn_of(int64_t orientation);

// The turn that a JPEG or PNG file asks for; none where the file has no orientation or its EXIF
// data are damaged. Never throws and never reads beyond the bytes.
Turn turn_of_image(std::span<const uint8_t> image);
// The same for EXIF data alone: the contents of a TIFF file.
Turn turn_of_exif(std::span<const uint8_t> tiff);

ImageSize turned(const ImageSize& stored, const Turn& turn);
// The box of stored pixels that becomes `upright`, in an image of `stored` size.
PixelBox turned_back(const PixelBox& upright, const Turn& turn, const ImageSize& stored);
// Where a box of stored pixels is in the upright image.
RealBox turned(const RealBox& box, const Turn& turn, const ImageSize& stored);
void turn_pixels(const Image& stored, const Turn& turn, Image& upright);

}  // namespace pando::data

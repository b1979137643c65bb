// Reads JPEG and PNG images from memory as RGB. The first bytes of an image tell its format.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "pando/data/image/image.h"

namespace pando {

namespace data {
class PixelReader;
}

enum class ImageFormat { jpeg, png };

// Whether an orientation in EXIF data counts. Photographs of cameras and telephones need it to be
// upright; ImageNet is used as it is stored, since the published results ignore the orientation.
enum class Orientation { upright, as_stored };

struct DecodeLimits {
  int64_t max_pixels = 100'000'000;  // of one image; checked before memory is allocated
};

// A part of an image, read to be resized afterwards.
struct RegionRequest {
  PixelBox box;
  ImageSize target;         // what the box will be resized to; only for `may_shrink`
  bool may_shrink = false;  // a JPEG may be decoded at 1/2, 1/4 or 1/8 of its size, as long as the
                            // box stays at least as large as `target`
};

// One encoded image: the constructor reads its header, read() its pixels, as often as needed. Grey,
// palette, CMYK and 16-bit images become 8-bit RGB (of 16 bits the upper 8 are kept); an alpha
// channel is dropped, as PIL's convert("RGB") does. Upright images are turned as the EXIF data say,
// and size and boxes are those of the turned image; damaged EXIF data are ignored. The bytes must
// outlive the reader. Only one thread at a time may use it.
//
// Every method throws IoError, which names `place` and what is wrong, for data that is cut short,
// damaged, larger than the limits or neither JPEG nor PNG, and Unsupported for kinds of JPEG that
// it cannot read.
class ImageReader {
 public:
  ImageReader(std::span<const uint8_t> bytes, std::string place, const DecodeLimits& limits = {},
              Orientation orientation = Orientation::upright);
  ~ImageReader();
  ImageReader(ImageReader&&) noexcept;
  ImageReader& operator=(ImageReader&&) noexcept;

  ImageFormat format() const { return format_; }
  bool cmyk() const;  // stored as CMYK; the pixels are RGB nevertheless
  ImageSize size() const;

  void read(Image& into);
  // Reads the pixels that the box needs, perhaps some more around it and perhaps shrunk, and
  // returns where the box lies in `into`. A JPEG is only decoded down to the lower edge of the box.
  // Throws InvalidArgument for a box that is not inside the image.
  RealBox read_region(const RegionRequest& request, Image& into);

 private:
  ImageFormat format_;
  std::string place_;
  std::unique_ptr<data::PixelReader> reader_;
};

Image decode_image(std::span<const uint8_t> bytes, const std::string& place,
                   const DecodeLimits& limits = {}, Orientation orientation = Orientation::upright);

}  // namespace pando

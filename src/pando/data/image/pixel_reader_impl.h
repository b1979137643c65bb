// The common interface of the readers of image formats.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/base/error.h"
#include "pando/data/image/decode.h"

namespace pando::data {

class PixelReader {
 public:
  virtual ~PixelReader() = default;
  virtual ImageSize size() const = 0;
  virtual bool cmyk() const { return false; }
  virtual void read(Image& into) = 0;
  // Requires: the box is inside the image.
  virtual RealBox read_region(const RegionRequest& request, Image& into) = 0;
};

// Requires: height and width come from an image header, so that their product fits.
inline void check_size(const ImageSize& size, const std::string& place,
                       const DecodeLimits& limits) {
  if (size.height < 1 || size.width < 1) {
    throw IoError(place, ": image of ", size, " pixels, expected at least one");
  }
  if (size.pixels() > limits.max_pixels) {
    throw IoError(place, ": image of ", size, " = ", with_thousands(size.pixels()),
                  " pixels, expected at most ", with_thousands(limits.max_pixels));
  }
}

}  // namespace pando::data

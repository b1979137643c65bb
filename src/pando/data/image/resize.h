// Bilinear resizing of a part of an RGB image into the memory of a batch.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/data/image/augment.h"
#include "pando/data/image/image.h"

namespace pando {

struct ResizeRequest {
  ImageView image;  // RGB
  RealBox box;      // the part of the image that is stretched to the target
  ImageSize size;   // of the target
  bool flip = false;
  // If true, the edges of the box are interpolated with the pixels beyond them, where there are
  // any; if false, only pixels of the box are used, as if the image had been cropped to the box
  // first.
  bool look_beyond_box = false;
};

// The convention of pixel centres is TensorFlow's `half_pixel_centers` without antialiasing: pixel
// i has its centre at i + 0.5, so target row i is taken at box.y + (i + 0.5) * box.height / height,
// between the two rows with the nearest centres. u8 targets are truncated, as a cast does. Throws
// InvalidArgument for images that are not RGB, a box outside of the image or a target that does not
// have size.pixels() * 3 elements.
void resize_bilinear(const ResizeRequest& request, const PixelTarget& to);

}  // namespace pando

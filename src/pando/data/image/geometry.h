// Which part of an image is taken for training and for validation, and the random choices behind
// it. All are pure functions of (seed, epoch, index of the sample): the number of workers and the
// order of their work change nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "pando/base/random.h"
#include "pando/data/image/image.h"

namespace pando {

// The random numbers of one sample in one epoch.
RandomStream sample_random(uint64_t seed, int64_t epoch, int64_t index);

// A part of an image with a zero border around it, maybe mirrored left to right. A row or column
// outside the image is border.
struct CropFlip {
  int64_t y = 0;  // of the upper left corner, from -border on
  int64_t x = 0;
  bool flip = false;

  bool operator==(const CropFlip&) const = default;
};

bool random_flip(RandomStream& random);  // true in half of the cases

// A crop of `target` anywhere in `image` with `border` zeros on every side, mirrored in half of the
// cases. Throws InvalidArgument when the target is larger than the image with its border.
CropFlip random_crop_flip(RandomStream& random, const ImageSize& image, const ImageSize& target,
                          int64_t border);

// A bounding box of an object, as fractions of the height and width; only its part inside the image
// counts, and coordinates that are NaN count as 0.
struct ObjectBox {
  float y_min = 0;
  float x_min = 0;
  float y_max = 1;
  float x_max = 1;
};

struct DistortedBoxOptions {
  float min_object_covered = 0.1f;  // of at least one object
  float min_aspect = 0.75f;         // width / height
  float max_aspect = 1.33f;
  float min_area = 0.05f;  // as a fraction of the image
  float max_area = 1.0f;
  int attempts = 100;
};

// A random box of the image that covers enough of an object, by the rules of TensorFlow's
// sample_distorted_bounding_box: an aspect is drawn uniformly, then a height uniformly from those
// that keep the area within its bounds, then the place. Without objects the whole image counts as
// one. If no attempt succeeds, the result is the whole image. Throws InvalidArgument for invalid
// options.
PixelBox distorted_box(RandomStream& random, const ImageSize& image,
                       std::span<const ObjectBox> objects, const DistortedBoxOptions& options = {});

// The size with a short side of `short_side` and the same aspect; the long side is truncated.
// Throws InvalidArgument unless all sides are at least 1.
ImageSize with_short_side(const ImageSize& image, int64_t short_side);

// The middle `target` of an image; a leftover of one pixel is on the lower or right side. Throws
// InvalidArgument when the target is larger.
PixelBox central_crop(const ImageSize& image, const ImageSize& target);

// The part of an image that resizing its short side and then cropping the middle leaves, in pixels
// of the image before resizing: resizing this part gives the same values in one step.
RealBox central_box(const ImageSize& image, int64_t short_side, const ImageSize& target);

}  // namespace pando

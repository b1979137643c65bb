// Data sets whose images are kept as bytes and become what a network wants when they are gathered.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "pando/data/dataset.h"
#include "pando/data/image/augment.h"

namespace pando {

// What becomes of the bytes 0 to 255.
enum class PixelValues {
  bytes,         // stay u8
  plain,         // f32, the same numbers
  scaled,        // f32, divided by 255
  standardised,  // f32, each image with mean 0 and deviation 1; see standardise()
  normalised,    // f32, by the mean and deviation of ImageNet's channels; see normalise_imagenet()
};

struct AugmentOptions {
  PixelValues values = PixelValues::standardised;
  bool flip = false;  // mirrors half of the images
  // The device mirrors: the data set gets the field "flip", u8, 1 for the images that `flip`
  // chooses. Mirrored then, the bytes are those that would have been made here.
  bool flip_on_device = false;
  int64_t border = 0;  // zeros on every side, of which a random crop of the old size is taken; they
                       // are zeros of the result, so they have no part in standardising
  uint64_t seed = 0;   // of mirroring and cropping
};

// The field "x", u8 [height, width, channels], changed. What happens to a sample depends on the
// seed, the epoch and its index only. Throws InvalidArgument when x is something else, a border is
// negative or normalising meets other than three channels.
Dataset augment_images(const Dataset& dataset, const AugmentOptions& options);

}  // namespace pando

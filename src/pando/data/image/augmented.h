// Data sets whose images are kept as bytes and are converted to the values that a network expects
// when they are gathered.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "pando/data/dataset.h"
#include "pando/data/image/augment.h"
#include "pando/data/image/changes.h"

namespace pando {

// How the bytes 0 to 255 are converted.
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
  // chooses. After mirroring, the bytes equal those that the host would have made.
  bool flip_on_device = false;
  int64_t border = 0;  // width of the zeros added on every side before a random crop of the old
                       // size; they are zeros of the result and do not count in standardising
  ChangeOptions changes = {};  // made before cropping and mirroring
  uint64_t seed = 0;           // decides everything random
};

// Converts the field "x", u8 [height, width, channels]. A field "y" with a class for every pixel,
// i32 [height, width], is cropped, mirrored and moved alike, with -1 (not labelled) outside. What
// happens to a sample depends only on the seed, the epoch and its index. Throws InvalidArgument if
// x has another type or shape, the border is negative, images to normalise do not have three
// channels, or images to change do not have one or three, and for changes out of range.
Dataset augment_images(const Dataset& dataset, const AugmentOptions& options);

}  // namespace pando

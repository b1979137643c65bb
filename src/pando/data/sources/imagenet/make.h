// Makes pictures that a network can learn, in the files of ImageNet.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "pando/data/image/image.h"

namespace pando {

// With a quarter more they are the longest sides of a JPEG image.
inline constexpr int64_t kLargestMadeSide = 52400;

struct MakeImagenetOptions {
  int64_t classes = 10;  // up to 1000
  int64_t train = 500;
  int64_t validation = 100;
  int train_shards = 4;
  int validation_shards = 2;
  ImageSize size = {375, 500};  // sides are this, give or take a quarter
  // The folders of ILSVRC2012, which build_imagenet() takes, instead of shards.
  bool jpeg_folders = false;
  uint64_t seed = 0;
  int workers = 1;
};

// Every picture has one object with a bounding box: a disc, a square, a diamond or a ring in one of
// five colours with stripes of one of five widths, over a shaded ground in one of ten tints; these
// four, in this order, are the class. Place, size, brightness, hue and noise vary. What is made is
// a pure function of the options, for any number of workers. Throws InvalidArgument for numbers
// that make no sense, IoError when files cannot be written or the folder has other shards or
// images.
void make_imagenet(const std::string& folder, const MakeImagenetOptions& options = {});

}  // namespace pando

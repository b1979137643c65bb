// Makes pictures that a network can learn, in the files of ImageNet.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "pando/data/image/image.h"

namespace pando {

// With a quarter more, this is the longest side that a JPEG image can have.
inline constexpr int64_t kLargestMadeSide = 52400;

struct MakeImagenetOptions {
  int64_t classes = 10;  // up to 1000
  int64_t train = 500;
  int64_t validation = 100;
  int train_shards = 4;
  int validation_shards = 2;
  ImageSize size = {375, 500};  // sides are this, give or take a quarter
  // Makes the folders of ILSVRC2012, the input of build_imagenet(), instead of shards.
  bool jpeg_folders = false;
  uint64_t seed = 0;
  int workers = 1;
};

// Every picture has one object with a bounding box: a disc, a square, a diamond or a ring in one of
// five colours with stripes of one of five widths, on a shaded background in one of ten tints;
// these four, in this order, determine the class. Place, size, brightness, hue and noise vary. The
// files are a pure function of the options, for any number of workers. Throws InvalidArgument for
// invalid numbers, IoError when files cannot be written or the folder has other shards or images.
void make_imagenet(const std::string& folder, const MakeImagenetOptions& options = {});

}  // namespace pando

// Makes pictures of circles and squares with masks, to learn segmentation from.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "pando/data/image/image.h"

namespace pando {

struct MakeShapesOptions {
  int64_t train = 200;
  int64_t validation = 50;
  int64_t size = 128;  // height and width of a picture
  uint64_t seed = 0;
};

// Writes train and validation, each with the folders images and masks (mask_folder.h), and
// labels.txt. A picture has one to four shapes of any colours, which may cover each other, over a
// shaded ground with noise. The classes are 0 background, 1 circle, 2 square. The files are a pure
// function of the options. Throws InvalidArgument for invalid numbers, IoError when files cannot be
// written.
void make_shapes(const std::string& folder, const MakeShapesOptions& options = {});

namespace data {

struct ShapesPicture {
  Image picture;
  Image mask;  // one channel
};
ShapesPicture draw_shapes(int64_t size, uint64_t key);

}  // namespace data

}  // namespace pando

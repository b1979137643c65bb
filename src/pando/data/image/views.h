// What a network sees of a photograph: a random part for training, the middle for validation.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "pando/data/image/augment.h"
#include "pando/data/image/decode.h"
#include "pando/data/image/geometry.h"

namespace pando {

struct TrainViewOptions {
  ImageSize size = {224, 224};
  DistortedBoxOptions box = {};
  bool flip = true;             // in half of the cases
  bool flip_on_device = false;  // views are not mirrored here, the choice is only told
  bool may_shrink = true;  // JPEGs are decoded at a fraction of their size where a box is at least
                           // twice as large as the view
};

// A distorted box of the image, maybe mirrored, resized; returns whether it is mirrored, or is to
// be on the device. Only the pixels that are needed are decoded; `scratch` keeps its memory from
// image to image.
bool read_train_view(ImageReader& reader, RandomStream random, std::span<const ObjectBox> objects,
                     const TrainViewOptions& options, Image& scratch, const PixelTarget& to);

struct EvalViewOptions {
  ImageSize size = {224, 224};
  int64_t short_side = 256;  // the image is resized to it, then the middle `size` taken
};

// Always decoded at full size.
void read_eval_view(ImageReader& reader, const EvalViewOptions& options, Image& scratch,
                    const PixelTarget& to);

}  // namespace pando

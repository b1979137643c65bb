// What a network sees of a photograph: a random part for training, the middle for validation.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "pando/data/image/augment.h"
#include "pando/data/image/changes.h"
#include "pando/data/image/decode.h"
#include "pando/data/image/geometry.h"

namespace pando {

// How views for training are augmented.
struct ViewAugmentation {
  bool flip = true;        // mirrors half of them
  bool random_box = true;  // false: the middle, as for validation
  ChangeOptions changes = {};
};

struct TrainViewOptions {
  ImageSize size = {224, 224};
  DistortedBoxOptions box = {};
  bool flip = true;             // in half of the cases
  bool flip_on_device = false;  // views are not mirrored here; the choice is only returned
  // Above 0: no random box but the middle, as for validation (EvalViewOptions).
  int64_t short_side = 0;
  const PictureChanges* changes = nullptr;  // made to the view of `size`; null: none
  bool may_shrink = true;  // JPEGs are decoded at a fraction of their size where a box is at least
                           // twice as large as the view
};

// What a random view shows: a part of the image, maybe mirrored.
struct TrainView {
  PixelBox box = {};  // of no meaning if the view is the middle
  bool flip = false;
};
TrainView choose_train_view(RandomStream random, const ImageSize& image,
                            std::span<const ObjectBox> objects, const TrainViewOptions& options);

// Reads a distorted box of the image, maybe mirrors it, resizes it and changes it; returns whether
// it is mirrored, here or later on the device. Only the pixels that are needed are decoded;
// `scratch` keeps its memory from image to image.
bool read_train_view(ImageReader& reader, RandomStream random, std::span<const ObjectBox> objects,
                     const TrainViewOptions& options, Image& scratch, const PixelTarget& to);

struct EvalViewOptions {
  ImageSize size = {224, 224};
  int64_t short_side = 256;  // the image is resized to it, then the middle `size` taken
};

// Reads the middle of the image, which is always decoded at full size.
void read_eval_view(ImageReader& reader, const EvalViewOptions& options, Image& scratch,
                    const PixelTarget& to);

}  // namespace pando

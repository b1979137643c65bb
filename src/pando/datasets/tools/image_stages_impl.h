// The stages for encoded images from any source. Private to the folder.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "pando/data/image/geometry.h"
#include "pando/datasets/tools/pipeline_impl.h"

namespace pando::datasets {

// Views, valid during the call that gets them.
struct EncodedImage {
  std::span<const uint8_t> bytes;
  std::span<const ObjectBox> objects;
};

// Reads the images of a unit with the memory of one thread and hands each on.
using ImageUse = std::function<void(const EncodedImage& image)>;
using EachImage = std::function<void(int64_t unit, const ImageUse& use)>;
using MakeEachImage = std::function<EachImage()>;

// The part that a random view needs, decoded; then the view: resized, mirrored, normalised.
Stage decode_stage(const MakeEachImage& make, uint64_t seed);
Stage view_stage(const MakeEachImage& make, uint64_t seed);

}  // namespace pando::datasets

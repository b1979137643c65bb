// Masks: pictures whose pixels are class numbers. They are cut out, mirrored and resized like the
// pictures beside them, but their numbers are never mixed.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "pando/data/image/decode.h"
#include "pando/data/image/image.h"

namespace pando {

inline constexpr int32_t kNotLabelled = -1;      // a pixel of no class: no loss or metric counts it
inline constexpr int kNotLabelledInMasks = 255;  // the same in files

// The numbers of a mask as an image of one channel: grey values of up to 8 bits, unscaled, or
// places in the palette. Throws IoError, also for images that are not PNG or have colours.
void read_mask(std::span<const uint8_t> bytes, const std::string& place, const DecodeLimits& limits,
               Image& into);

struct MaskView {
  ImageView mask;  // one channel
  RealBox box;     // the part of the mask that is stretched to the target
  ImageSize size;  // of the target
  bool flip = false;
};

// The class of each number in a mask.
using MaskClasses = std::array<int32_t, 256>;
// Every number is its class, but kNotLabelledInMasks is `last`.
MaskClasses mask_classes(int32_t last = kNotLabelled);

// Every pixel of the target gets the class of the mask's pixel that has its centre inside. Pixel
// centres are those of resize_bilinear(). Throws InvalidArgument for a mask with several channels,
// a box outside of it, or a target that does not have size.pixels() elements.
void resize_mask(const MaskView& view, const MaskClasses& classes, std::span<int32_t> to);

// The colours that PASCAL VOC uses for classes; a light one for pixels that are not labelled.
std::array<uint8_t, 3> class_colour(int32_t label);
// Requires: as many labels as pixels.
Image picture_of_mask(std::span<const int32_t> labels, const ImageSize& size);

}  // namespace pando

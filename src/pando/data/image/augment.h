// Pixels on their way into a batch: cropped, mirrored and mapped to the values that a network
// expects, in one pass from the bytes of an image into the memory of the batch.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "pando/data/image/geometry.h"
#include "pando/data/image/image.h"

namespace pando {

// value = pixel * scale[c] + shift[c] inside the image, border[c] outside of it.
struct ChannelMap {
  std::array<float, 4> scale = {1, 1, 1, 1};
  std::array<float, 4> shift = {0, 0, 0, 0};
  std::array<float, 4> border = {0, 0, 0, 0};
};

// (pixel / 255 - mean) / deviation with zeros outside, that is with a border of the mean colour.
// Throws InvalidArgument for a deviation that is not above zero.
ChannelMap normalise_channels(const std::array<float, 3>& mean,
                              const std::array<float, 3>& deviation);
// ImageNet's channels in values from 0 to 1, as torchvision has them.
inline constexpr std::array kImagenetMean = {0.485, 0.456, 0.406};
inline constexpr std::array kImagenetDeviation = {0.229, 0.224, 0.225};
// normalise_channels() with the usual mean and deviation of ImageNet.
ChannelMap normalise_imagenet();

// (pixel - mean) / deviation with mean and population standard deviation over all pixels and
// channels of this image, and zeros outside. An image of one colour, for which the formula would
// divide by zero, becomes zeros.
ChannelMap standardise(const ImageView& image);
// The same for values that are f32 already, in place.
void standardise(std::span<float> values);

// The memory of a batch that pixels are written to: either f32, mapped, or u8, unchanged (with 0
// outside of the image).
struct PixelTarget {
  PixelTarget(std::span<float> values, const ChannelMap& channel_map)
      : f32(values), map(channel_map) {}
  explicit PixelTarget(std::span<uint8_t> values) : u8(values) {}

  size_t elements() const { return f32.empty() ? u8.size() : f32.size(); }

  std::span<float> f32;
  std::span<uint8_t> u8;
  ChannelMap map;
};

// Writes `size` pixels of the image from (choice.y, choice.x) on; with choice.flip the image is
// mirrored first. size = image.size and a default choice give the whole image. Throws
// InvalidArgument unless the image has 1 to 4 channels and `to` has as many elements as needed.
void crop_flip(const ImageView& image, const CropFlip& choice, const ImageSize& size,
               const PixelTarget& to);

}  // namespace pando

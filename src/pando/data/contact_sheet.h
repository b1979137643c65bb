// Many small pictures with captions in one image, to look at what a network is trained on.
//
//   encode_png(contact_sheet(tiles_of(train, {.indices = indices}, classes)).view())
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pando/data/dataset.h"
#include "pando/data/image/image.h"

namespace pando {

struct SheetTile {
  Image image;          // one channel or three
  std::string caption;  // cut off where the tile ends
};

inline constexpr int64_t kCaptionLetterWidth = 12;  // pixels from one letter to the next

struct ContactSheetOptions {
  int64_t columns = 8;
  int64_t min_tile = 96;  // smaller pictures are enlarged by a whole factor, at least to this width
};

// The tiles in reading order on a dark background, each with its caption below. Throws
// InvalidArgument when there are no tiles, no columns or a picture is empty or has neither one
// channel nor three.
Image contact_sheet(std::span<const SheetTile> tiles, const ContactSheetOptions& options = {});

// A sample's features as a picture: u8 or f32 [height, width, channels]. f32 is scaled so that its
// smallest value is black and its largest white. If there are more than three channels, the first
// three are shown; if there are two, the first. Throws InvalidArgument for other shapes and types.
Image picture_of(const Tensor& x);

struct SampleChoice {
  std::span<const int64_t> indices;
  int64_t epoch = 0;  // selects the order and the augmentation
};

// Samples with their labels as captions: the name of the class if it is known, otherwise its number
// (for one-hot labels, the index of the largest value).
std::vector<SheetTile> tiles_of(const Dataset& dataset, const SampleChoice& samples,
                                std::span<const std::string> classes = {});

}  // namespace pando

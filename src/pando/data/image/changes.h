// The changes that training makes to a picture beside cropping and mirroring: which ones a user
// allows, the choices for one sample, and applying them to a picture and to its mask.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "pando/data/image/image.h"

namespace pando {

// Factors of brightness, contrast and saturation are drawn from [max(0, 1 - x), 1 + x], the turn of
// the hue from [-hue, hue] of a circle. The four come in a random order.
struct ColorJitter {
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
  double hue = 0;  // at most 0.5
};

inline constexpr int kMostRandOperations = 16;
inline constexpr double kMostRandMagnitude = 30;

// RandAugment: this many operations, drawn with repetition out of identity, autocontrast, equalize,
// rotate, solarize, color, posterize, contrast, brightness, sharpness, shear x and y, translate x
// and y, each with the same magnitude and, where it has one, a random sign.
struct RandAugment {
  int operations = 0;    // up to kMostRandOperations
  double magnitude = 9;  // 0 to kMostRandMagnitude
};

enum class ErasingFill {
  mean,  // the mean colour of the picture
  noise  // random bytes
};

// Pixels whose source is outside the picture get its mean colour; in a mask they get -1.
struct ChangeOptions {
  bool flip_rows = false;  // turns half of the pictures upside down
  double rotation = 0;     // degrees at most, in either direction; up to 180
  RandAugment randaugment = {};
  ColorJitter jitter = {};
  // The probability that a rectangle is filled: 2 to 33 % of the picture, 0.3 to 3.3 times as high
  // as wide. The mask keeps its classes there.
  double erasing = 0;
  ErasingFill erasing_fill = ErasingFill::mean;

  bool any() const;
};

// Throws InvalidArgument for a number out of range; `place` begins the message.
void check_changes(const ChangeOptions& options, const char* place);

// Identifies a sample of an epoch. All random choices for the sample are a function of these
// numbers.
struct SampleKey {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t index = 0;
};

enum class ChangeKind {
  flip_rows,
  rotate,       // by degrees
  shear_x,      // pixels per row
  shear_y,      // pixels per column
  translate_x,  // as a part of the width
  translate_y,  // as a part of the height
  brightness,   // the factor, also of the next three
  contrast,
  saturation,
  sharpness,
  hue,  // a part of a circle
  auto_contrast,
  equalize,
  posterize,  // bits that are kept
  solarize,   // the threshold
  erase
};

struct PictureChange {
  ChangeKind kind = ChangeKind::flip_rows;
  float amount = 0;
  PixelBox box = {};       // of erase
  uint64_t noise_key = 0;  // of erase; 0: the mean colour
};

// All choices for one sample, in the order in which they are applied. A value of a fixed size.
class PictureChanges {
 public:
  void add(const PictureChange& change) { list_[count_++] = change; }
  std::span<const PictureChange> list() const { return {list_.data(), count_}; }
  bool empty() const { return count_ == 0; }

 private:
  std::array<PictureChange, kMostRandOperations + 8> list_;
  size_t count_ = 0;
};

// Requires: checked options. Each kind of change draws from numbers of its own, so that switching
// one on leaves the others as they were.
PictureChanges draw_changes(const ChangeOptions& options, const SampleKey& key,
                            const ImageSize& size);

// Applies the changes in place. Pictures have 1 or 3 channels.
void change_picture(const PictureChanges& changes, Image& picture);
// Applies the changes that move pixels to a mask, class numbers [height, width].
void change_mask(const PictureChanges& changes, const ImageSize& size, std::span<int32_t> mask);

}  // namespace pando

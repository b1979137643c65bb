// What users choose about the augmentation of training pictures, for any data set.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "pando/data/image/changes.h"
#include "pando/data/image/mixed.h"

namespace pando {

// No value: as usual for the data set.
struct AugmentationChoice {
  std::optional<bool> flip;  // mirrors half of the pictures left to right
  // Images of a fixed size: zeros around them before a random crop. Views: only 0 is allowed and
  // takes the middle instead of a random part.
  std::optional<int64_t> border;
  std::optional<double> least_area;  // of a random part of a view's picture, as a fraction of it
  ChangeOptions changes = {};
  MixOptions mix = {};  // of classes; the seed and the pairs follow from those of the data

  // Whether images of a data set that is not augmented itself are mirrored, cropped or changed.
  bool alters_pictures() const {
    return flip.value_or(false) || border.value_or(0) > 0 || changes.any();
  }
};

}  // namespace pando

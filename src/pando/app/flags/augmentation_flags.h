// The flags about random changes of training pictures: of `pando train` and, except mixing, of
// `pando data show`.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pando/data/image/augmentation.h"
#include "pando/options/options.h"

namespace pando {
struct DatasetRecord;
}

namespace pando::app {

// usual: as the data set is augmented without the flag.
enum class RandomFlip { usual, none, horizontal, vertical, both };

struct AugmentationFlags {
  RandomFlip random_flip = RandomFlip::usual;
  std::optional<int64_t> random_crop;      // pixels
  std::optional<double> random_crop_area;  // least part of a picture
  double random_rotation = 0;              // degrees
  std::vector<double> color_jitter;        // one number for the first three, or three, or all four
  std::vector<double> randaugment;         // operations, magnitude
  double random_erasing = 0;               // probability
  ErasingFill random_erasing_fill = ErasingFill::mean;
  double mixup = 0;
  double cutmix = 0;

  // Requires: validated flags.
  AugmentationChoice choice() const;
};

// The flags for changes of one picture at a time.
void add_picture_flags(OptionTable& table, AugmentationFlags& flags);
void add_augmentation_flags(OptionTable& table, AugmentationFlags& flags);

// Throws UsageError for a value or a combination that the data set cannot have.
void validate(const AugmentationFlags& flags, const DatasetRecord& dataset);

// Throws UsageError if samples are mixed but the model has no classes. `task` is the name of what
// the model is for.
void validate_mixing(const AugmentationFlags& flags, const std::string& model,
                     const std::string& task);

}  // namespace pando::app

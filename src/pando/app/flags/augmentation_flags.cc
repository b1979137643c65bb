// SPDX-License-Identifier: MIT
#include "pando/app/flags/augmentation_flags.h"

#include <utility>

#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/datasets/all_datasets.h"

namespace pando::app {

namespace {

constexpr double kMostJitter = 10;
constexpr double kMostHue = 0.5;
constexpr double kMostAlpha = 100;

ColorJitter jitter_of(const std::vector<double>& strengths) {
  if (strengths.empty()) return {};
  if (strengths.size() == 1) return {strengths[0], strengths[0], strengths[0], 0};
  return {strengths[0], strengths[1], strengths[2], strengths.size() > 3 ? strengths[3] : 0};
}

// The first flag that asks for pictures; empty if none is given.
std::string picture_flag(const AugmentationFlags& flags) {
  const std::vector<std::pair<const char*, bool>> given = {
      {"--random-flip", flags.random_flip != RandomFlip::usual},
      {"--random-crop", flags.random_crop.has_value()},
      {"--random-crop-area", flags.random_crop_area.has_value()},
      {"--random-rotation", flags.random_rotation > 0},
      {"--color-jitter", !flags.color_jitter.empty()},
      {"--randaugment", !flags.randaugment.empty()},
      {"--random-erasing", flags.random_erasing > 0},
      {"--cutmix", flags.cutmix > 0}};
  for (const auto& [name, is_given] : given) {
    if (is_given) return name;
  }
  return "";
}

void validate_values(const AugmentationFlags& flags) {
  const size_t strengths = flags.color_jitter.size();
  if (strengths == 2 || strengths > 4) {
    throw UsageError(
        "--color-jitter: expected 1 number for brightness, contrast and saturation, 3 "
        "numbers for each of them, or 4 with the hue, got ",
        strengths);
  }
  if (strengths == 4 && flags.color_jitter[3] > kMostHue) {
    throw UsageError("--color-jitter: expected a hue of at most ", kMostHue, " of a circle, got ",
                     flags.color_jitter[3]);
  }
  if (flags.random_erasing_fill != ErasingFill::mean && flags.random_erasing == 0) {
    throw UsageError("--random-erasing-fill: nothing is erased; add --random-erasing 0.25");
  }
  if (flags.randaugment.empty()) return;
  if (flags.randaugment.size() > 2) {
    throw UsageError("--randaugment: expected the number of operations and their magnitude, got ",
                     flags.randaugment.size(), " numbers");
  }
  const double operations = flags.randaugment[0];
  if (operations != static_cast<int>(operations) || operations > kMostRandOperations) {
    throw UsageError("--randaugment: expected 0 to ", kMostRandOperations, " operations, got ",
                     operations);
  }
}

void validate_crops(const AugmentationFlags& flags, const DatasetRecord& dataset) {
  if (!dataset.has_views() && flags.random_crop_area) {
    throw UsageError("--random-crop-area: images of ", dataset.name,
                     " have a fixed size; use --random-crop, or --dataset ",
                     join(datasets_with_views(), " or "));
  }
  if (flags.random_crop == 0 && flags.random_crop_area) {
    throw UsageError(
        "--random-crop-area: expected no --random-crop 0, which takes the middle of every picture; "
        "remove one of the flags");
  }
  if (!dataset.has_views() || !flags.random_crop || *flags.random_crop == 0) return;
  throw UsageError("--random-crop: pictures of ", dataset.name,
                   " are cut at random already; expected 0 for their middle, got ",
                   *flags.random_crop, "; --random-crop-area limits how small a part may be");
}

// What moves pixels.
void add_flags_of_places(OptionTable& table, AugmentationFlags& flags) {
  table.add_choice("random-flip", flags.random_flip,
                   {{"auto", RandomFlip::usual},
                    {"none", RandomFlip::none},
                    {"horizontal", RandomFlip::horizontal},
                    {"vertical", RandomFlip::vertical},
                    {"both", RandomFlip::both}},
                   "mirror half of the training pictures: left to right (horizontal), upside down "
                   "(vertical), or both, independently; auto: as is usual for the data set");
  table
      .add("random-crop", flags.random_crop,
           "surround a training picture of a fixed size by this many pixels of zeros and cut out a "
           "part of its size at random; 0: none. Pictures of any size are cut at random anyway; "
           "with 0, their middle is taken. Default: what is usual for the data set")
      .with_hint("PIXELS")
      .at_least(0)
      .at_most(4096);
  table
      .add("random-crop-area", flags.random_crop_area,
           "the smallest part of a picture of any size that training may see, as a fraction of its "
           "area; default: 0.05, with masks 0.5")
      .with_hint("FRACTION")
      .above(0)
      .at_most(1);
  table
      .add("random-rotation", flags.random_rotation,
           "rotate by up to this many degrees in either direction; corners get the mean colour of "
           "the picture")
      .with_hint("DEGREES")
      .at_least(0)
      .at_most(180);
}

void add_flags_of_colours(OptionTable& table, AugmentationFlags& flags) {
  table
      .add(
          "color-jitter", flags.color_jitter,
          "change brightness, contrast and saturation by random factors from 1 - X to 1 + X, in "
          "random order: one number for the three, three numbers, or four with the largest turn of "
          "the hue (at most 0.5, of a circle)")
      .with_hint("X")
      .at_least(0)
      .at_most(kMostJitter);
  table
      .add("randaugment", flags.randaugment,
           "RandAugment: the number of operations on each picture and their magnitude, 0 to 30 (9 "
           "if not given), as in 2,9")
      .with_hint("N")
      .at_least(0)
      .at_most(kMostRandMagnitude);
  table
      .add("random-erasing", flags.random_erasing,
           "the probability that a rectangle of 2 to 33 % of the picture is filled")
      .with_hint("P")
      .at_least(0)
      .at_most(1);
  table.add_choice("random-erasing-fill", flags.random_erasing_fill,
                   {{"mean", ErasingFill::mean}, {"noise", ErasingFill::noise}},
                   "what --random-erasing fills with: the mean colour of the picture, or noise");
}

}  // namespace

AugmentationChoice AugmentationFlags::choice() const {
  AugmentationChoice choice{.border = random_crop, .least_area = random_crop_area};
  if (random_flip != RandomFlip::usual) {
    choice.flip = random_flip == RandomFlip::horizontal || random_flip == RandomFlip::both;
  }
  choice.changes = {
      .flip_rows = random_flip == RandomFlip::vertical || random_flip == RandomFlip::both,
      .rotation = random_rotation,
      .jitter = jitter_of(color_jitter),
      .erasing = random_erasing,
      .erasing_fill = random_erasing_fill};
  if (!randaugment.empty())
    choice.changes.randaugment.operations = static_cast<int>(randaugment[0]);
  if (randaugment.size() > 1) choice.changes.randaugment.magnitude = randaugment[1];
  choice.mix.mixup = mixup;
  choice.mix.cutmix = cutmix;
  return choice;
}

void add_picture_flags(OptionTable& table, AugmentationFlags& flags) {
  add_flags_of_places(table, flags);
  add_flags_of_colours(table, flags);
}

void add_augmentation_flags(OptionTable& table, AugmentationFlags& flags) {
  table.begin_group("Augmentation");
  add_picture_flags(table, flags);
  table
      .add("mixup", flags.mixup,
           "MixUp: blend each training sample and its label with another one; its share is drawn "
           "from Beta(ALPHA, ALPHA). 0: off")
      .with_hint("ALPHA")
      .at_least(0)
      .at_most(kMostAlpha);
  table
      .add("cutmix", flags.cutmix,
           "CutMix: paste a random box of another picture into each and mix the labels by area; "
           "with --mixup too, each sample takes one of the two. 0: off")
      .with_hint("ALPHA")
      .at_least(0)
      .at_most(kMostAlpha);
}

void validate(const AugmentationFlags& flags, const DatasetRecord& dataset) {
  validate_values(flags);
  const std::string flag = picture_flag(flags);
  // Files whose samples have any shape tell when they are read whether they are pictures.
  const bool pictures = dataset.preparation || dataset.shape.rank() == 0;
  if (!pictures && !flag.empty()) {
    throw UsageError(flag, ": samples of ", dataset.name,
                     " are not pictures; remove the flag, or use a data set of pictures");
  }
  validate_crops(flags, dataset);
}

void validate_mixing(const AugmentationFlags& flags, const std::string& model,
                     const std::string& task) {
  if (flags.mixup == 0 && flags.cutmix == 0) return;
  if (task == "classification") return;
  throw UsageError(flags.mixup > 0 ? "--mixup" : "--cutmix", ": mixes the labels of classes, but ",
                   model, " is a model for ", task, "; remove the flag");
}

}  // namespace pando::app

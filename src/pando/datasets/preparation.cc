// SPDX-License-Identifier: MIT
#include "pando/datasets/preparation.h"

#include <utility>

#include "pando/base/error.h"
#include "pando/base/random.h"
#include "pando/datasets/fingerprint.h"
#include "pando/datasets/validation_split.h"
#include "pando/options/usage_error.h"

namespace pando {

namespace {

constexpr int64_t kUsualViewSide = 224;
constexpr int64_t kUsualShortSide = 256;  // of a validation image whose view has kUsualViewSide

PreprocessOptions front_of(const DataLoadOptions& options, PreprocessValues values, bool flip) {
  return {.eight_bit = options.eight_bit, .values = values, .flip = flip, .fused = options.fused};
}

}  // namespace

AugmentOptions train_augmentation(const Preparation& preparation,
                                  const AugmentationChoice& choice) {
  return {.values = preparation.on_host,
          .flip = choice.flip.value_or(preparation.flip),
          .border = choice.border.value_or(preparation.border),
          .changes = choice.changes};
}

void prepare(TrainingData& data, const Preparation& preparation, const DataLoadOptions& options) {
  AugmentOptions train = train_augmentation(preparation, options.augmentation);
  train.seed = datasets::augmentation_key(options.seed);
  AugmentOptions test{.values = preparation.on_host};
  if (options.prepare_on_device) {
    train.flip_on_device = train.flip && options.flips_on_device();
    data.front = front_of(options, preparation.on_device, train.flip_on_device);
    train.values = test.values = options.eight_bit ? PixelValues::bytes : PixelValues::plain;
  }
  data.sets.train = augment_images(data.sets.train, train);
  data.sets.test = augment_images(data.sets.test, test);
}

void mix(TrainingData& data, const DataLoadOptions& options) {
  MixOptions mixing = options.augmentation.mix;
  if (!mixing.on()) return;
  if (data.task != "classification") {
    throw UsageError(mixing.mixup > 0 ? "--mixup" : "--cutmix",
                     ": mixes labels of one class each, but those of the data are for ", data.task,
                     "; remove the flag");
  }
  mixing.seed = datasets::augmentation_key(options.seed);
  mixing.with_neighbour = options.shuffle;
  Dataset samples = data.sets.train;
  if (options.shuffle && !data.in_order) samples = samples.shuffle({.seed = options.seed});
  data.sets.train = mix_samples(samples, data.sets.classes, mixing);
  data.in_order = true;
}

namespace datasets {

uint64_t augmentation_key(uint64_t seed) { return mix_keys(seed, hash_name("augmentation")); }

TrainingData load_arrays(const std::string& path, const DataLoadOptions& options,
                         const ReadArrays& read) {
  std::vector<BadRecord> skipped;
  TrainingData data{.sets = read(options.on_bad_record == OnBadRecord::skip ? &skipped : nullptr)};
  data.skipped = std::move(skipped);
  data.fingerprint = fingerprint_of_arrays(data.sets.train);
  for (const Dataset* set : {&data.sets.train, &data.sets.test}) {
    if (set->size() > 0) continue;
    throw IoError(path, ": found no ", set == &data.sets.train ? "training" : "test",
                  " sample that can be read", data.skipped.empty() ? "" : "; ",
                  to_string(data.skipped));
  }
  if (options.validation_split > 0) {
    const Dataset all = data.sets.train;
    SplitIndices split = split_by_class(labels_of(all), options.validation_split);
    data.sets.train = all.select(std::move(split.train));
    data.sets.test = all.select(std::move(split.validation));
  }
  return data;
}

ChannelMap view_map(const DataLoadOptions& options) {
  return options.prepare_on_device ? ChannelMap{} : normalise_imagenet();
}

DType view_dtype(const DataLoadOptions& options) {
  return options.eight_bit ? DType::u8 : DType::f32;
}

int64_t view_short_side(const DataLoadOptions& options) {
  return options.view_side * kUsualShortSide / kUsualViewSide;
}

std::optional<PreprocessOptions> view_front(const DataLoadOptions& options) {
  if (!options.prepare_on_device) return std::nullopt;
  const bool flip = options.augmentation.flip.value_or(true) && options.flips_on_device();
  return front_of(options, PreprocessValues::normalise_imagenet, flip);
}

ViewAugmentation view_augmentation(const AugmentationChoice& choice) {
  return {.flip = choice.flip.value_or(true),
          .random_box = choice.border.value_or(1) != 0,
          .changes = choice.changes};
}

DistortedBoxOptions view_box(const AugmentationChoice& choice) {
  DistortedBoxOptions box;
  if (choice.least_area) box.min_area = static_cast<float>(*choice.least_area);
  return box;
}

}  // namespace datasets

}  // namespace pando

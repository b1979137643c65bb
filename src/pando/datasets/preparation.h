// How samples get from files to a network: what a user may choose, what comes out, and which work
// the host and the devices do.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pando/data/bad_records.h"
#include "pando/data/image/augmentation.h"
#include "pando/data/image/augmented.h"
#include "pando/data/image/views.h"
#include "pando/data/sources/train_test.h"
#include "pando/zoo/preprocessing.h"

namespace pando {

struct DataLoadOptions {
  bool prepare_on_device = false;  // the devices flip and normalise
  bool eight_bit = false;          // with prepare_on_device: images go to the devices as bytes
  bool fused = false;              // with prepare_on_device: bytes are normalised in one pass
  bool shuffle = true;             // shuffles streams, which have an order of their own
  int64_t view_side = 224;         // height and width of views
  OnBadRecord on_bad_record = OnBadRecord::error;
  uint64_t seed = 0;  // of everything random about the samples
  int workers = 1;    // threads that read files once at the start
  // Above 0: this fraction of the training samples is for validation, instead of the test samples
  // (validation_split.h).
  double validation_split = 0;
  AugmentationChoice augmentation = {};

  // Whether the devices mirror. The host does it where pictures are changed, because views are
  // mirrored before that, or mixed, which comes after both.
  bool flips_on_device() const {
    return prepare_on_device && !augmentation.mix.on() && !augmentation.changes.any();
  }
};

struct TrainingData {
  TrainTest sets;
  std::string task = "classification";     // what the labels are for (zoo/task.h)
  std::vector<std::string> class_names;    // in the order of the labels; empty: only numbers
  std::string fingerprint;                 // of the training samples (fingerprint.h)
  std::vector<BadRecord> skipped;          // with OnBadRecord::skip
  std::vector<std::string> warnings;       // about the files
  bool in_order = false;                   // a stream that is shuffled already
  std::optional<PreprocessOptions> front;  // the work that is left to the devices
};

// How images of bytes are prepared.
struct Preparation {
  PixelValues on_host = PixelValues::plain;             // when the host does the work
  PreprocessValues on_device = PreprocessValues::none;  // when the devices do it
  bool flip = false;                                    // mirrors half of the training images
  int64_t border = 0;  // zeros added around training images before a random crop
};

// Converts both sets to the values that a network expects. The images stay bytes in memory; their
// values are computed when a batch is made.
void prepare(TrainingData& data, const Preparation& preparation, const DataLoadOptions& options);

// Mixes the training samples as the options ask for; their order is then part of the set. Throws
// UsageError if the labels are not one class each.
void mix(TrainingData& data, const DataLoadOptions& options);

// The options of augment_images() for training images with this preparation.
AugmentOptions train_augmentation(const Preparation& preparation, const AugmentationChoice& choice);

namespace datasets {

// The key of random augmentation.
uint64_t augmentation_key(uint64_t seed);

// Reads arrays with `read`, which lists the samples that it leaves out unless it gets null, and
// cuts the validation samples out of them if that is asked for. Throws IoError when no sample is
// left.
using ReadArrays = std::function<TrainTest(std::vector<BadRecord>* skipped)>;
TrainingData load_arrays(const std::string& path, const DataLoadOptions& options,
                         const ReadArrays& read);

// Views are parts of images of any size; the host normalises them, or passes them on plain to the
// devices, which then mirror and normalise them.
inline constexpr Preparation kViewPreparation = {.on_host = PixelValues::normalised,
                                                 .on_device = PreprocessValues::normalise_imagenet};
ChannelMap view_map(const DataLoadOptions& options);
DType view_dtype(const DataLoadOptions& options);
int64_t view_short_side(const DataLoadOptions& options);  // of validation images, before the crop
std::optional<PreprocessOptions> view_front(const DataLoadOptions& options);
ViewAugmentation view_augmentation(const AugmentationChoice& choice);
DistortedBoxOptions view_box(const AugmentationChoice& choice);

}  // namespace datasets

}  // namespace pando

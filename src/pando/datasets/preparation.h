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
#include "pando/data/image/augmented.h"
#include "pando/data/sources/train_test.h"
#include "pando/zoo/preprocessing.h"

namespace pando {

struct DataLoadOptions {
  bool prepare_on_device = false;  // the devices flip and normalise
  bool eight_bit = false;          // with it: images go to the devices as bytes
  bool fused = false;              // with it: the devices normalise bytes in one pass
  bool shuffle = true;             // streams have an order of their own
  int64_t view_side = 224;         // height and width of views
  OnBadRecord on_bad_record = OnBadRecord::error;
  uint64_t seed = 0;  // of everything random about the samples
  int workers = 1;    // threads that read files once at the start
};

struct TrainingData {
  TrainTest sets;
  std::vector<BadRecord> skipped;          // with OnBadRecord::skip
  bool in_order = false;                   // a stream that is shuffled already
  std::optional<PreprocessOptions> front;  // the work that is left to the devices
};

// What becomes of images of bytes.
struct Preparation {
  PixelValues on_host = PixelValues::plain;             // when the host does the work
  PreprocessValues on_device = PreprocessValues::none;  // when the devices do it
  bool flip = false;                                    // mirrors half of the training images
  int64_t border = 0;  // zeros around training images, of which a random crop is taken
};

// Gives both sets the values that a network takes. The bytes stay bytes in memory; the values of a
// batch are made when the batch is made.
void prepare(TrainingData& data, const Preparation& preparation, const DataLoadOptions& options);

namespace datasets {

// The key of random augmentation.
uint64_t augmentation_key(uint64_t seed);

// Reads arrays with `read`, which lists the samples that it leaves out unless it gets null. Throws
// IoError when no sample is left.
using ReadArrays = std::function<TrainTest(std::vector<BadRecord>* skipped)>;
TrainingData load_arrays(const std::string& path, const DataLoadOptions& options,
                         const ReadArrays& read);

// Views are parts of images of any size; they come normalised from the host, or plain for the
// devices, which mirror and normalise them then.
inline constexpr Preparation kViewPreparation = {.on_host = PixelValues::normalised,
                                                 .on_device = PreprocessValues::normalise_imagenet};
ChannelMap view_map(const DataLoadOptions& options);
DType view_dtype(const DataLoadOptions& options);
int64_t view_short_side(const DataLoadOptions& options);  // of validation images, before the crop
std::optional<PreprocessOptions> view_front(const DataLoadOptions& options);

}  // namespace datasets

}  // namespace pando

// Synthetic samples with the sizes and labels of a data set, to train without files.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "pando/datasets/dataset_record.h"
#include "pando/zoo/zoo.h"

namespace pando {

struct SyntheticImages {
  Shape shape;  // of an image
  int64_t classes = 10;
  int64_t train = 0;  // how many samples the sets have
  int64_t test = 0;
  int64_t distinct = 1;  // different images; the sets repeat them
  uint64_t seed = 0;
  bool masks = false;  // a class for every pixel
};

// x is u8: pixels with mean 127 and standard deviation 60, at most two deviations from the mean; y
// is i32: a random class, or one of every pixel. A pure function of the arguments.
TrainTest synthetic_images(const SyntheticImages& options);

struct SyntheticRequest {
  const ZooEntry& model;                 // its task decides what the labels are
  std::optional<int64_t> distinct = {};  // nothing: more samples than caches can hold
};

// Synthetic samples with the number and shape of those of the data set, prepared in the same way. A
// data set of volumes gets volumes of normal numbers, with sides of options.view_side. Throws
// InvalidArgument for a data set without images if the model does not take volumes.
TrainingData synthetic_data(const DatasetRecord& record, const SyntheticRequest& request,
                            const DataLoadOptions& options);

}  // namespace pando

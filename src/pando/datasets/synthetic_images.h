// Synthetic images with the sizes and labels of a data set, to train without files.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "pando/datasets/dataset_record.h"

namespace pando {

struct SyntheticImages {
  Shape shape;  // of an image
  int64_t classes = 10;
  int64_t train = 0;  // how many samples the sets have
  int64_t test = 0;
  int64_t distinct = 1;  // different images; the sets repeat them
  uint64_t seed = 0;
};

// x is u8: pixels with mean 127 and standard deviation 60, at most two deviations from the mean; y
// is i32: a random class. A pure function of the arguments.
TrainTest synthetic_images(const SyntheticImages& options);

// Synthetic samples with the number and shape of those of the data set, prepared in the same way.
// `distinct`: how many images differ; nothing: more than caches can hold. Throws InvalidArgument
// for a data set without images.
TrainingData synthetic_data(const DatasetRecord& record, std::optional<int64_t> distinct,
                            const DataLoadOptions& options);

}  // namespace pando

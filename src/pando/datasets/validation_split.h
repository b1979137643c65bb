// Cuts samples for validation out of the training data (--validation-split). Which samples these
// are depends on the data and the fraction alone, not on the seed of a run: whoever validates
// weights later measures them on samples that they were not trained on.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pando/data/dataset.h"
#include "pando/data/sources/record_dataset.h"

namespace pando::datasets {

// How many of `samples` are for validation: the fraction of them, rounded, but at least 1 and not
// all; none of fewer than 2.
int64_t validation_count(int64_t samples, double fraction);

struct SplitIndices {
  std::vector<int64_t> train;  // ascending, like the others
  std::vector<int64_t> validation;
};

// Takes the fraction of every class, chosen at random with a fixed key. Throws InvalidArgument if
// no class has two samples.
SplitIndices split_by_class(std::span<const int32_t> labels, double fraction);

// The labels "y" of all samples. Reads every sample.
std::vector<int32_t> labels_of(const Dataset& dataset);

// The records without the last `count`: those of a set whose files are in a random order are as
// good as any others, and files are read in sequence.
RecordDataset without_last(RecordDataset records, int64_t count);

}  // namespace pando::datasets

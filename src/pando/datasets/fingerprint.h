// A short text that tells training data apart: a run does not resume on other data unnoticed.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "pando/data/dataset.h"

namespace pando::datasets {

// What numbers of type f32 are.
enum class RealNumbers {
  pixels,  // in [0, 1], which count as the bytes that they were
  any
};
// A checksum of all samples of arrays in memory.
std::string fingerprint_of_arrays(const Dataset& dataset, RealNumbers reals = RealNumbers::pixels);

// A checksum over files below `folder`, which may be too many to read: the names of all, the sizes
// of up to 4096 and the first and last 64 KiB of up to 64, spread evenly. The place of the folder
// does not matter. All of `labels` counts, where labels are not part of the names of files. Throws
// IoError for a file that cannot be read.
std::string fingerprint_of_files(const std::string& folder, std::span<const std::string> files,
                                 const std::string& labels = {});

}  // namespace pando::datasets

// A short text that tells training data apart: a run does not resume on other data unnoticed.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "pando/data/dataset.h"

namespace pando::datasets {

// A checksum of all samples of arrays in memory. Pixels as f32 in [0, 1] and as bytes count as the
// same.
std::string fingerprint_of_arrays(const Dataset& dataset);

// A checksum over files below `folder`, which may be too many to read: the names of all, the sizes
// of up to 4096 and the first and last 64 KiB of up to 64, spread evenly. The place of the folder
// does not matter. Throws IoError for a file that cannot be read.
std::string fingerprint_of_files(const std::string& folder, std::span<const std::string> files);

}  // namespace pando::datasets

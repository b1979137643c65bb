// input.json and input.png of a run directory: some training samples as they reach the devices,
// after augmentation and mixing.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "pando/data/dataset.h"

namespace pando::app {

inline constexpr const char* kInputFile = "input.json";
inline constexpr const char* kInputPictures = "input.png";
inline constexpr int64_t kInputSamples = 24;

// {version, fields, columns, tile: [height, width], samples: [[index, label or null]]}. Writes
// nothing for data that are no pictures. Throws IoError.
void write_input_record(const std::filesystem::path& folder, const Dataset& train);

}  // namespace pando::app

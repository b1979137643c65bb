// input.json and input.png of a run directory: some training samples as they reach the devices,
// after augmentation and mixing.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pando/data/dataset.h"

namespace pando::app {

inline constexpr const char* kInputFile = "input.json";
inline constexpr const char* kInputPictures = "input.png";
inline constexpr int64_t kInputSamples = 24;

// The contents of both files; empty for data that are no pictures.
struct InputRecord {
  // {version, fields, columns, tile: [height, width], samples: [[index, label or null]]}
  std::string json;
  std::vector<uint8_t> png;
};

// Throws what reading a sample throws.
InputRecord input_record(const Dataset& train);

// Throws IoError.
void write_input_record(const std::filesystem::path& folder, const InputRecord& record);

}  // namespace pando::app

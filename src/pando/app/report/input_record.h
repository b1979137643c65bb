// input.json and input.png of a run directory: some training samples as they reach the devices,
// after augmentation and mixing, and how fast they are made.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pando/data/dataset.h"

namespace pando::app {

inline constexpr const char* kInputFile = "input.json";
inline constexpr const char* kInputPictures = "input.png";
inline constexpr int64_t kInputSamples = 24;

// How long one data worker took to make samples while nothing else ran.
struct PreparationTime {
  int64_t samples = 0;
  double seconds = 0;
  int workers = 0;  // of the run; 0: as many as there are free cores
};

// Makes batches for a fraction of a second. Throws what reading a sample throws.
PreparationTime measure_preparation(const Dataset& train, int64_t batch_size);

// The contents of both files. Data that are not pictures have no png, and no json without a time.
struct InputRecord {
  // {version, fields, columns, tile: [height, width], samples: [[index, label or null]],
  // prepared: {samples, seconds, workers}}; only the first two, and prepared if it is known, for
  // data that are not pictures.
  std::string json;
  std::vector<uint8_t> png;
};

// Throws what reading a sample throws.
InputRecord input_record(const Dataset& train,
                         const std::optional<PreparationTime>& prepared = std::nullopt);

// Throws IoError.
void write_input_record(const std::filesystem::path& folder, const InputRecord& record);

}  // namespace pando::app

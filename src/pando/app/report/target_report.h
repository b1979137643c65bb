// Reports how well a network predicts numbers: the errors of each target, and a picture of
// predicted against true values.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pando/base/json.h"

namespace pando::app {

// The predictions and labels of all test samples, row by row.
struct TargetValues {
  int64_t targets = 0;
  std::vector<float> predicted;
  std::vector<float> actual;

  int64_t samples() const { return targets == 0 ? 0 : std::ssize(actual) / targets; }
};

struct TargetFigures {
  double mean_error = 0;     // absolute
  double root_error = 0;     // root of the mean square
  double r2 = 0;             // 1: perfect, 0: as good as the mean of the labels
  double error_of_mean = 0;  // mean absolute error of a network that always gives that mean
};
std::vector<TargetFigures> figures_of(const TargetValues& values);

// A table with a row per target.
std::string to_text(const TargetValues& values);
// A panel per target, of up to eight; of many samples some, spread evenly.
std::string targets_svg(const TargetValues& values);

inline constexpr const char* kTargetRecordFile = "target_report.json";

// {version, samples, targets: [{mean_error, root_error, r2, error_of_mean,
//  points: [[true, predicted]]}]}: of up to eight targets up to 1,000 points, spread evenly over
//  the samples; the others have none.
Json target_record(const TargetValues& values);

// Writes target_report.txt, target_report.json and targets.svg into `folder`, which must exist.
// Throws IoError.
void write_target_report(const std::filesystem::path& folder, const TargetValues& values);

}  // namespace pando::app

// class_report.json and class_samples.png of a run directory: the class report for programs, with
// pictures of some samples. Their size does not grow with the data.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pando/app/report/class_samples.h"
#include "pando/base/json.h"
#include "pando/data/dataset.h"
#include "pando/train/classification.h"

namespace pando::app {

inline constexpr const char* kClassRecordFile = "class_report.json";
inline constexpr const char* kClassSamplesFile = "class_samples.png";
// A larger confusion matrix keeps the cells with the largest counts.
inline constexpr size_t kMostRecordedCells = 20000;

// Enough digits for people; the file stays small.
double rounded_share(double share);
// [[label, predicted, count]], the largest counts first.
Json recorded_cells(const ClassReport& report);

// {version, names, samples, accuracy, classes: [[support, precision, recall, f1]],
//  cells: [[label, predicted, count]], shown: null or {columns, tile: [height, width],
//  samples: [[index, label, predicted, confidence]]}}: sample i of `shown` is picture i of the
//  sheet.
Json class_record(const ClassReport& report, const std::vector<std::string>& names);

// Replaces both files. `samples` are all validated ones, `data` has their pictures; the picture
// file is left out if the data are not pictures. Throws IoError.
void write_class_record(const std::filesystem::path& folder, const ClassReport& report,
                        const std::vector<std::string>& names,
                        std::vector<ClassifiedSample> samples, const Dataset& data);

}  // namespace pando::app

// segmentation_report.json and segmentation_samples.png of a run directory: the segmentation report
// for programs, with the worst and the best pictures. Their size does not grow with the data.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pando/app/report/segmentation_report.h"

namespace pando::app {

inline constexpr const char* kSegmentationRecordFile = "segmentation_report.json";
inline constexpr const char* kSegmentationSamplesFile = "segmentation_samples.png";

// Replaces both files:
// {version, names, colours: ["#rrggbb"], samples, pixels, mean_iou, accuracy,
//  classes: [[pixels, iou or null, precision, recall]], cells: [[label, predicted, pixels]],
//  shown: null or {columns, tile: [height, width], samples: [[index, iou, is_best]]}}.
// The sheet has three pictures for each sample: the picture, its labels, the predictions. `worst`
// and `best` are the samples of choose_samples(); the picture file is left out without them. Throws
// IoError.
void write_segmentation_record(const std::filesystem::path& folder,
                               const SegmentationReport& report,
                               const std::vector<std::string>& names,
                               const std::vector<SegmentedSample>& worst,
                               const std::vector<SegmentedSample>& best);

}  // namespace pando::app

// The class report of a validation as files, with a picture of the confusion matrix.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pando/train/classification.h"

namespace pando::app {

// Writes class_report.txt, class_report.csv, confusion.csv and confusion.svg into `folder`, which
// must exist, over those that are there. Without names numbers stand for the classes. Throws
// IoError with the path, InvalidArgument for another number of names than classes.
void write_class_report(const std::filesystem::path& folder, const ClassReport& report,
                        const std::vector<std::string>& names);

// The picture: a row for every true class, a column for every prediction, shares of the row as
// colours, counts in the cells up to 30 classes. Beyond 100 classes neighbours share a cell.
std::string confusion_svg(const ClassReport& report, const std::vector<std::string>& names);

}  // namespace pando::app

// Writes the class report of a validation to files, with a picture of the confusion matrix.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pando/train/classification.h"

namespace pando::app {

// Writes class_report.txt, class_report.csv, confusion.csv and confusion.svg into `folder`, which
// must exist; replaces existing files. Classes without names are shown as numbers. Throws IoError
// with the path, and InvalidArgument if the numbers of names and classes differ.
void write_class_report(const std::filesystem::path& folder, const ClassReport& report,
                        const std::vector<std::string>& names);

// The names in one text, a line each, as they are kept in the run directory (class_names.txt) and
// in checkpoints (the note class_names).
std::string class_names_text(const std::vector<std::string>& names);
std::vector<std::string> parse_class_names(const std::string& text);

// The picture has a row for every true class and a column for every predicted class. Colours show
// shares of the row; with up to 30 classes, the cells also have counts. With more than 100 classes,
// several neighbouring classes share a cell.
// `counted` are the things that have a class.
std::string confusion_svg(const ClassReport& report, const std::vector<std::string>& names,
                          const std::string& counted = "samples");

}  // namespace pando::app

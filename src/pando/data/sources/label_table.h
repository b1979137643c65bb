// Labels of pictures in a CSV file. Three forms are known:
//   file,label          one class per picture, by name or number
//   file,labels         several, separated by ; or | or blanks
//   file,cat,dog,...    a column for each class, with 0 or 1
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pando::data {

struct LabelRow {
  std::string file;                 // as written
  std::vector<std::string> labels;  // each once, in the order of the row
  int64_t line = 0;
};

struct LabelTable {
  std::string place;  // names the file in errors
  std::vector<LabelRow> rows;
  std::vector<std::string> columns;  // the classes of the header, if there is a column for each
  bool several = false;  // a picture has several classes or none, or there is a column for each
  std::vector<std::string> warnings;
};

// A first row is a header if its first cell is a usual word for files ("file", "image_id", ...), or
// if it names the columns of the third form. Blanks separate labels if the header of the column is
// a plural ("labels", "tags") or there is no header (then a warning says so); under another header
// they are part of a name. Throws IoError with the line for rows with too few or too many
// cells, cells that are neither 0 nor 1 in the third form, files without a name or that occur
// twice, pictures without a label where each has one, and tables without rows.
LabelTable parse_label_table(std::string_view content, const std::string& place);
LabelTable read_label_table(const std::string& path);

inline constexpr int64_t kMostNumberedClasses = 1'000'000;

// The classes that labels are places in.
struct LabelClasses {
  int64_t count = 0;
  std::vector<std::string> names;  // empty: labels are numbers
  bool numbered = true;            // a label that is not a name may be the number of a class
};
// The classes of training: the given names or, if there are none, the columns, the numbers up to
// the largest, or all names, sorted. Names from the table have no numbers. Throws IoError if there
// are fewer than two classes, or one for tables with several per picture, or a number is too large.
LabelClasses classes_of_table(const LabelTable& table, const std::vector<std::string>& given);

// The class numbers of a row, ascending. Throws IoError with the line for an unknown class.
std::vector<int32_t> labels_of_row(const LabelTable& table, const LabelRow& row,
                                   const LabelClasses& classes);

}  // namespace pando::data

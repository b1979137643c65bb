// SPDX-License-Identifier: MIT
#include "pando/data/sources/label_table.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/data/sources/csv.h"
#include "pando/data/sources/gzip.h"

namespace pando::data {

namespace {

constexpr std::array<std::string_view, 18> kFileWords = {
    "file",     "files",      "filename", "file_name", "filepath", "file_path",
    "image",    "images",     "img",      "image_id",  "imageid",  "image_name",
    "img_name", "image_path", "picture",  "path",      "id",       "name"};
constexpr std::array<std::string_view, 6> kPlurals = {"labels",     "tags",    "classes",
                                                      "categories", "targets", "attributes"};

template <size_t size>
bool is_one_of(const std::string& cell, const std::array<std::string_view, size>& words) {
  return std::ranges::find(words, to_lower(cell)) != words.end();
}

// Reads 0 or 1, also written as a real number; no value for other texts.
std::optional<bool> flag_of(const std::string& cell) {
  if (cell == "0" || cell == "0.0") return false;
  if (cell == "1" || cell == "1.0") return true;
  return std::nullopt;
}

bool has_header(const std::vector<CsvRow>& rows) {
  const std::vector<std::string>& first = rows[0].cells;
  if (is_one_of(first[0], kFileWords)) return true;
  const auto is_flag = [](const std::string& cell) { return flag_of(cell).has_value(); };
  return first.size() > 2 && rows.size() > 1 && rows[1].cells.size() == first.size() &&
         std::none_of(first.begin() + 1, first.end(), is_flag) &&
         std::all_of(rows[1].cells.begin() + 1, rows[1].cells.end(), is_flag);
}

// Spreadsheets of some countries separate cells by other marks.
void check_separator(const CsvRow& row, const std::string& place) {
  if (row.cells.size() != 1) return;
  const size_t mark = row.cells[0].find_first_of(";\t");
  if (mark == std::string::npos) return;
  throw IoError(place, ": line ", row.line, ": the cells of '", row.cells[0], "' are separated by ",
                row.cells[0][mark] == ';' ? "semicolons" : "tabs",
                "; expected commas: save the table as comma-separated values");
}

void check_cells(const CsvRow& row, size_t expected, const std::string& place) {
  check_separator(row, place);
  if (row.cells.size() != expected) {
    throw IoError(place, ": line ", row.line, " has ", counted(std::ssize(row.cells), "cell"),
                  ", expected ", expected,
                  expected == 2 ? ": a file and its label; quote labels that have commas" : "");
  }
  if (row.cells[0].empty()) {
    throw IoError(place, ": line ", row.line, ": expected the name of a file in the first cell");
  }
}

// The third form.
void read_columns(const std::vector<CsvRow>& rows, LabelTable& table) {
  const std::vector<std::string>& header = rows[0].cells;
  table.columns.assign(header.begin() + 1, header.end());
  std::set<std::string> names;
  for (const std::string& name : table.columns) {
    if (name.empty() || !names.insert(name).second) {
      throw IoError(table.place, ": line ", rows[0].line, ": the column '", name,
                    "' has no name of its own, expected the name of a class in each");
    }
  }
  table.several = true;
  for (size_t r = 1; r < rows.size(); ++r) {
    const CsvRow& row = rows[r];
    check_cells(row, header.size(), table.place);
    LabelRow labels{.file = row.cells[0], .labels = {}, .line = row.line};
    for (size_t c = 1; c < row.cells.size(); ++c) {
      const std::optional<bool> flag = flag_of(row.cells[c]);
      if (!flag) {
        throw IoError(table.place, ": line ", row.line, ", column '", header[c],
                      "': expected 0 or 1, got '", row.cells[c],
                      "'; with one or several labels in a cell, a row has two cells");
      }
      if (*flag) labels.labels.push_back(header[c]);
    }
    table.rows.push_back(std::move(labels));
  }
}

// The labels of a cell, each once.
std::vector<std::string> split_labels(const std::string& cell, std::string_view separators) {
  std::vector<std::string> labels;
  std::set<std::string> known;
  for (size_t begin = 0; begin <= cell.size();) {
    const size_t end = std::min(cell.find_first_of(separators, begin), cell.size());
    std::string label(trim(std::string_view(cell).substr(begin, end - begin)));
    if (!label.empty() && known.insert(label).second) labels.push_back(std::move(label));
    begin = end + 1;
  }
  return labels;
}

// What separates the labels in the cells of the second column.
std::string_view separators_of(const std::vector<CsvRow>& rows, size_t first, LabelTable& table) {
  constexpr std::string_view kMarks = ";|";
  const auto find = [&](std::string_view any_of) {
    return std::find_if(
        rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
        [&](const CsvRow& row) { return row.cells[1].find_first_of(any_of) != std::string::npos; });
  };
  if (find(kMarks) != rows.end()) return kMarks;
  if (first > 0 && !is_one_of(rows[0].cells[1], kPlurals)) return "";
  const auto blank = find(" \t");
  if (blank == rows.end()) return "";
  if (first == 0) {
    table.warnings.push_back(
        concat(table.place, ": line ", blank->line, ": '", blank->cells[1],
               "' is read as several labels; if names have blanks, add the header file,label"));
  }
  return " \t";
}

// The first and the second form.
void read_lists(const std::vector<CsvRow>& rows, size_t first, LabelTable& table) {
  for (size_t r = first; r < rows.size(); ++r) check_cells(rows[r], 2, table.place);
  const std::string_view separators = separators_of(rows, first, table);
  const bool may_be_empty =
      !separators.empty() || (first > 0 && is_one_of(rows[0].cells[1], kPlurals));
  for (size_t r = first; r < rows.size(); ++r) {
    const CsvRow& row = rows[r];
    LabelRow labels{
        .file = row.cells[0], .labels = split_labels(row.cells[1], separators), .line = row.line};
    if (labels.labels.empty() && !may_be_empty) {
      throw IoError(table.place, ": line ", row.line, ": ", row.cells[0],
                    " has no label; expected a name or a number");
    }
    table.several = table.several || labels.labels.size() != 1;
    table.rows.push_back(std::move(labels));
  }
}

void check_files_once(const LabelTable& table) {
  std::map<std::string_view, int64_t> lines;
  for (const LabelRow& row : table.rows) {
    const auto [found, is_new] = lines.emplace(row.file, row.line);
    if (is_new) continue;
    throw IoError(table.place, ": ", row.file, " is on line ", found->second, " and on line ",
                  row.line, "; expected each file once, with all of its labels");
  }
}

// The number if the label is a number; no value for names.
std::optional<int64_t> number_of(const std::string& label) {
  const std::optional<int64_t> number = parse_int(label);
  return number && *number >= 0 ? number : std::nullopt;
}

bool all_are_numbers(const LabelTable& table) {
  return std::ranges::all_of(table.rows, [](const LabelRow& row) {
    return std::ranges::all_of(
        row.labels, [](const std::string& label) { return number_of(label).has_value(); });
  });
}

LabelClasses numbered_classes(const LabelTable& table) {
  LabelClasses classes;
  for (const LabelRow& row : table.rows) {
    for (const std::string& label : row.labels) {
      const int64_t number = number_of(label).value();
      if (number >= kMostNumberedClasses) {
        throw IoError(table.place, ": line ", row.line, ": label ", number,
                      ", expected class numbers from 0 to ", kMostNumberedClasses - 1);
      }
      classes.count = std::max(classes.count, number + 1);
    }
  }
  return classes;
}

std::vector<std::string> all_names(const LabelTable& table) {
  std::set<std::string> names;
  for (const LabelRow& row : table.rows) names.insert(row.labels.begin(), row.labels.end());
  return {names.begin(), names.end()};
}

}  // namespace

LabelTable parse_label_table(std::string_view content, const std::string& place) {
  LabelTable table{.place = place};
  const std::vector<CsvRow> rows = parse_csv(content, place);
  const bool header = !rows.empty() && has_header(rows);
  if (rows.size() <= (header ? 1 : 0)) {
    throw IoError(place, ": has no rows, expected a file and its label on each line");
  }
  if (header && rows[0].cells.size() > 2) {
    read_columns(rows, table);
  } else {
    if (header) check_cells(rows[0], 2, place);
    read_lists(rows, header ? 1 : 0, table);
  }
  check_files_once(table);
  return table;
}

LabelTable read_label_table(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  return parse_label_table({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

LabelClasses classes_of_table(const LabelTable& table, const std::vector<std::string>& given) {
  LabelClasses classes{.count = 0, .names = given, .numbered = true};
  if (given.empty() && !table.columns.empty()) {
    classes = {.count = 0, .names = table.columns, .numbered = false};
  } else if (given.empty() && all_are_numbers(table)) {
    classes = numbered_classes(table);
  } else if (given.empty()) {
    classes = {.count = 0, .names = all_names(table), .numbered = false};
  }
  if (!classes.names.empty()) classes.count = std::ssize(classes.names);
  const int64_t least = table.several ? 1 : 2;
  if (classes.count < least) {
    throw IoError(table.place, ": has ", classes.count, classes.count == 1 ? " class" : " classes",
                  ", expected at least ", least);
  }
  return classes;
}

std::vector<int32_t> labels_of_row(const LabelTable& table, const LabelRow& row,
                                   const LabelClasses& classes) {
  std::vector<int32_t> labels;
  for (const std::string& label : row.labels) {
    const auto name = std::ranges::find(classes.names, label);
    int64_t place = classes.count;
    if (name != classes.names.end()) {
      place = name - classes.names.begin();
    } else if (classes.numbered) {
      place = number_of(label).value_or(classes.count);
    }
    if (place >= classes.count) {
      const std::string known =
          classes.names.empty() ? concat("0 to ", classes.count - 1)
                                : join(nearest_first(label, classes.names), ", ").substr(0, 200);
      throw IoError(table.place, ": line ", row.line, ": '", label, "' is not one of the ",
                    classes.count, " classes (", known, ")");
    }
    labels.push_back(static_cast<int32_t>(place));
  }
  std::ranges::sort(labels);
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

}  // namespace pando::data

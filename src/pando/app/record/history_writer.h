// Writes history.csv and history.json: one row per log event; the files are valid after every row.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pando/app/record/append_file.h"

namespace pando::app {

// One row; unknown values stay empty. Fractions such as accuracies are not in percent.
struct HistoryRow {
  double epoch = 0;  // completed epochs, with a fraction within an epoch
  int64_t step = 0;
  std::optional<double> loss;
  std::optional<double> metric;
  std::optional<double> throughput;  // samples per second, without compilation and validation
  std::optional<double> learning_rate;
  std::optional<double> seconds;  // since the start of the run
  std::optional<double> val_loss;
  std::optional<double> val_metric;
  std::vector<std::pair<std::string, double>> extra;  // more columns
  std::string metric_name = "accuracy";               // of the task (zoo/task.h)
};

// The fields of a row that may be empty, with the names of their columns, in the order of the file.
struct RowField {
  const char* name;
  std::optional<double> HistoryRow::*value;
  bool of_metric = false;  // the name of the row's metric follows

  std::string column(const HistoryRow& row) const {
    return of_metric ? name + row.metric_name : name;
  }
};
inline constexpr std::array kRowFields = {RowField{"loss", &HistoryRow::loss},
                                          RowField{"", &HistoryRow::metric, true},
                                          RowField{"throughput", &HistoryRow::throughput},
                                          RowField{"learning_rate", &HistoryRow::learning_rate},
                                          RowField{"seconds", &HistoryRow::seconds},
                                          RowField{"val_loss", &HistoryRow::val_loss},
                                          RowField{"val_", &HistoryRow::val_metric, true}};

// The content of history.csv.
struct CsvTable {
  std::vector<std::string> columns;
  std::vector<std::string> rows = {};  // with their line ends
};

// Used by one thread. The JSON file is a valid array after every row; a column that first appears
// in a later row is added to the header of the CSV file. Numbers have enough digits to be read back
// exactly; numbers that are not finite are null in JSON. Throws IoError if a row cannot be written;
// the files keep the earlier rows.
class HistoryWriter {
 public:
  // Replaces existing files atomically by new ones with the `kept` rows.
  HistoryWriter(const std::filesystem::path& csv, const std::filesystem::path& json,
                const std::vector<HistoryRow>& kept = {});
  void append(const HistoryRow& row);

 private:
  CsvTable table_;  // to rewrite the file when a column is added
  std::unique_ptr<AppendFile> csv_;
  std::unique_ptr<AppendFile> json_;
  bool is_empty_ = true;
};

// Reads the rows of a history.json up to a step, for a run that resumes there; none if there is no
// file. Throws IoError if the file cannot be read or is not a history.
std::vector<HistoryRow> read_history(const std::filesystem::path& json, int64_t last_step);

// A line of a history.json as a row; nothing for other lines, such as one that is not complete yet.
std::optional<HistoryRow> parse_history_line(std::string_view line);

}  // namespace pando::app

// history.csv and history.json: one row per log event, complete after every row.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pando/app/record/append_file.h"

namespace pando::app {

// What is not known in a row stays empty. Accuracies are fractions.
struct HistoryRow {
  double epoch = 0;  // whole epochs done, with a fraction within one
  int64_t step = 0;
  std::optional<double> loss;
  std::optional<double> accuracy;
  std::optional<double> throughput;  // samples per second, without compilation and validation
  std::optional<double> learning_rate;
  std::optional<double> seconds;  // since the start
  std::optional<double> val_loss;
  std::optional<double> val_accuracy;
  std::vector<std::pair<std::string, double>> extra;  // more columns
};

// The fields of a row that may be empty, under the names of their columns, in their order.
struct RowField {
  const char* name;
  std::optional<double> HistoryRow::*value;
};
inline constexpr std::array kRowFields = {RowField{"loss", &HistoryRow::loss},
                                          RowField{"accuracy", &HistoryRow::accuracy},
                                          RowField{"throughput", &HistoryRow::throughput},
                                          RowField{"learning_rate", &HistoryRow::learning_rate},
                                          RowField{"seconds", &HistoryRow::seconds},
                                          RowField{"val_loss", &HistoryRow::val_loss},
                                          RowField{"val_accuracy", &HistoryRow::val_accuracy}};

// Used by one thread. The JSON file is a valid array after every row; a column that first appears
// in a later row is added to the head of the CSV file. Numbers have as many digits as they need to
// be read back exactly; what is not finite is null in JSON. Throws IoError when a row cannot be
// written; the rows before stay.
class HistoryWriter {
 public:
  // With `kept` rows the files that are there are replaced, as a whole, by new ones of these rows.
  HistoryWriter(const std::filesystem::path& csv, const std::filesystem::path& json,
                const std::vector<HistoryRow>& kept = {});
  void append(const HistoryRow& row);

 private:
  void add_columns(const std::vector<std::string>& names);

  std::vector<std::string> columns_;
  std::unique_ptr<AppendFile> csv_;
  std::unique_ptr<AppendFile> json_;
  std::vector<std::string> csv_rows_;  // for the day a column is added
  bool is_empty_ = true;
};

// The rows of a history.json up to a step, for a run that goes on from there; none when there is no
// file. Throws IoError when it cannot be read or is no history.
std::vector<HistoryRow> read_history(const std::filesystem::path& json, int64_t last_step);

}  // namespace pando::app

// The folder that a run writes: config.yml, history.csv, history.json, log.txt, checkpoints/, and
// what sinks and reports put beside them.
// SPDX-License-Identifier: MIT
#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pando/app/record/append_file.h"
#include "pando/app/record/history_writer.h"
#include "pando/app/record/row_sink.h"

namespace pando::app {

struct RunDirectoryOptions {
  std::filesystem::path path;  // empty: runs/<model>-<date>-<time>, with a number if that exists
  std::string model;
  std::string config;    // the text of config.yml
  std::time_t time = 0;  // of the default name; 0: now
  // A run that goes on after this step: files that are there stay, the history up to the step.
  std::optional<int64_t> resumed_step;
  // With it: the rows of a validation after training go too, because there will be another.
  bool validates_again = false;
  bool writes = true;  // false: another instance writes it; this one only knows the path
};

// Owns the open files. Used by one thread. Making it creates what is missing; files of an earlier
// run in a folder that the user chose move into previous-<n>/, so that nothing is lost. Throws
// IoError with path and reason, ResourceError while another run writes the folder.
class RunDirectory {
 public:
  explicit RunDirectory(const RunDirectoryOptions& options);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }  // unless told else
  // Where an earlier run's files went; empty when there were none.
  const std::filesystem::path& previous() const { return previous_; }

  // Of the last row that a resumed run found, since its start; 0 for a new one.
  double seconds_before() const { return seconds_before_; }

  // Rows from now on reach the sink too.
  void add_sink(std::unique_ptr<RowSink> sink) { sinks_.push_back(std::move(sink)); }
  void append_history(const HistoryRow& row);
  void summarize(const Logs& figures);  // for the sinks
  void log(std::string_view line);

 private:
  std::filesystem::path path_;
  std::filesystem::path previous_;
  std::unique_ptr<AppendFile> log_;  // null, as the history, when another instance writes
  std::unique_ptr<HistoryWriter> history_;
  double seconds_before_ = 0;
  int lock_ = -1;  // a descriptor
  std::vector<std::unique_ptr<RowSink>> sinks_;
};

}  // namespace pando::app

// The folder that a run writes: config.yml, history.csv, history.json, log.txt, checkpoints/.
// SPDX-License-Identifier: MIT
#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "pando/app/append_file.h"
#include "pando/app/history_writer.h"

namespace pando::app {

struct RunDirectoryOptions {
  std::filesystem::path path;  // empty: runs/<model>-<date>-<time>, with a number if that exists
  std::string model;
  std::string config;    // the text of config.yml
  std::time_t time = 0;  // of the default name; 0: now
};

// Owns the open files. Used by one thread. Making it creates what is missing; files of an earlier
// run in a folder that the user chose move into previous-<n>/, so that nothing is lost. Throws
// IoError with path and reason.
class RunDirectory {
 public:
  explicit RunDirectory(const RunDirectoryOptions& options);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  // Where an earlier run's files went; empty when there were none.
  const std::filesystem::path& previous() const { return previous_; }

  void append_history(const HistoryRow& row) { history_->append(row); }
  void log(std::string_view line);

 private:
  std::filesystem::path path_;
  std::filesystem::path previous_;
  std::unique_ptr<AppendFile> log_;
  std::unique_ptr<HistoryWriter> history_;
};

}  // namespace pando::app

// The folder that a run writes to: config.yml, history.csv, history.json, summary.json, log.txt,
// checkpoints/ and the files of sinks and reports.
// SPDX-License-Identifier: MIT
#pragma once

#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pando/app/record/append_file.h"
#include "pando/app/record/history_writer.h"
#include "pando/app/record/row_sink.h"
#include "pando/app/record/run_summary.h"
#include "pando/base/folder_lock.h"

namespace pando::app {

struct RunDirectoryOptions {
  std::filesystem::path path;  // empty: runs/<model>-<date>-<time>, with a number if that exists
  std::string model;
  std::string config;    // the text of config.yml
  std::time_t time = 0;  // the time in the default name; 0: now
  // Set if the run resumes after this step: existing files stay, the history only up to the step.
  std::optional<int64_t> resumed_step;
  // With resumed_step: also removes the rows of a validation after training, because the resumed
  // run validates again.
  bool validates_again = false;
  std::string run_id = {};  // for the mark of the folder; empty: no mark
  SummaryFacts facts = {};  // for summary.json
  bool writes = true;       // false: another instance writes the files; this one only has the path
};

// Owns the open files. Used by one thread. The constructor creates missing folders; in a folder
// that the user chose it moves files of an earlier run to previous-<n>/, so that nothing is lost.
// Throws IoError with path and reason, and ResourceError if another run is writing to the folder.
class RunDirectory {
 public:
  explicit RunDirectory(const RunDirectoryOptions& options);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }  // the default
  // The folder with the files of an earlier run; empty if there were none.
  const std::filesystem::path& previous() const { return previous_; }

  // A line about a damaged history that was renamed; empty if there was none.
  const std::string& warning() const { return warning_; }

  // How long a resumed run had taken at its last kept row, in seconds; 0 for a new run.
  double seconds_before() const { return seconds_before_; }

  // Passes later rows to the sink too.
  void add_sink(std::unique_ptr<RowSink> sink) { sinks_.push_back(std::move(sink)); }
  void append_history(const HistoryRow& row);
  void summarize(const Logs& figures);  // for the sinks
  void log(std::string_view line);
  // How the run ends, for summary.json; a run that does not say so has failed.
  void end(RunState state, const std::string& cause = "");

  // From now on, functions that cannot write a file keep the reason instead of throwing, so that a
  // full disk does not stop the remaining work, such as validation.
  void defer_failures() { defers_ = true; }
  // Runs a part that writes files; false if it could not, after defer_failures().
  bool attempt(const std::function<void()>& part);
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  std::filesystem::path path_;
  std::filesystem::path previous_;
  std::unique_ptr<AppendFile> log_;  // null, like history_, if another instance writes
  std::unique_ptr<HistoryWriter> history_;
  double seconds_before_ = 0;
  std::string warning_;
  std::unique_ptr<FolderLock> lock_;        // null if another instance writes
  std::unique_ptr<SummaryWriter> summary_;  // null, like history_; ends before the lock
  std::vector<std::unique_ptr<RowSink>> sinks_;
  bool defers_ = false;
  std::vector<std::string> failures_;
};

}  // namespace pando::app

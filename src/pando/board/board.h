// The state of the board: the list of runs, and the curves of the runs that are open in a browser.
// Answers as JSON, so that tests need no network.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pando/app/html/run_record.h"
#include "pando/base/json.h"
#include "pando/board/history_tail.h"
#include "pando/board/run_list.h"

namespace pando::board {

// Compared or opened at the same time.
inline constexpr size_t kMostCompared = 16;

// How much of an opened run a page has already: "<opening>.<rows>".
struct Mark {
  int64_t opening = 0;
  size_t rows = 0;
};
std::string to_string(const Mark& mark);
// Throws InvalidArgument.
Mark parse_mark(const std::string& text);

// Every function may be called by any thread. Paths are those of RunEntry; one that is not in the
// list is an IoError, so that no path leads out of the folder.
class Board {
 public:
  explicit Board(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return list_.folder(); }

  // {version, folder, problem, runs: [...]} of a new look at the folder.
  Json runs();
  void scan();
  // {version, problem, changed: [...], removed: [id, ...]}; nothing if nothing has changed. Does
  // not look at the folder.
  std::optional<Json> changes_since(int64_t version);
  int64_t version();

  // {runs: [...], differing: [...], charts: [...], marks: [...]}: several runs over each other.
  // Throws InvalidArgument for no runs or too many.
  Json open(const std::vector<std::string>& paths);
  // {run: id, mark, charts}: what the run has written since the mark, which moves on; {run, reset:
  // true} if the page must open the run again; no value if nothing is new.
  std::optional<Json> news_of(const std::string& path, Mark& mark);

  // The folders of runs, for a report. Throws IoError also if a file in one of them is a link out
  // of the board's folder.
  std::vector<std::filesystem::path> folders_of(const std::vector<std::string>& paths);

  int64_t files_read();     // summaries
  int64_t history_bytes();  // read so far, also for runs that are closed now

 private:
  struct OpenRun {
    app::RunRecord record;  // with all rows
    HistoryTail tail;
    int64_t opening = 0;  // a number that no other opening has
    std::chrono::steady_clock::time_point used;
  };
  const RunEntry& entry_of(const std::string& path) const;
  std::filesystem::path folder_of(const std::string& path) const;
  OpenRun& opened(const std::string& path);
  void close(const std::string& path);
  // Reads what was appended. False: the history was replaced, by a run that was resumed perhaps
  // with other options, so everything must be read again.
  bool follow(OpenRun& run, const std::string& path);
  void forget_unused(const std::vector<std::string>& kept);

  std::mutex mutex_;  // protects what follows
  RunList list_;
  std::map<std::string, std::unique_ptr<OpenRun>> open_;
  int64_t openings_ = 0;
  int64_t closed_bytes_ = 0;  // read for runs that are closed now
};

// The path of a run as pages write it into addresses: %-codes for all but plain letters.
std::string id_of(const std::string& path);

}  // namespace pando::board

// The runs of a folder, as the list of the page needs them. Reads only one small file per run,
// summary.json, and reads it again only after it has changed.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pando/app/record/run_summary.h"
#include "pando/board/folder.h"

namespace pando::board {

struct RunEntry {
  std::string path;  // below the folder: "a", "sweep/b"; ".": the folder itself is a run
  std::string name;  // the same for people
  app::RunSummary summary;
  std::string problem;  // why the summary cannot be read; empty: it can
  double touched = 0;   // seconds since 1970 of its last sign
};

// Used by one thread. Handles any change of the folder and its runs.
class RunList {
 public:
  explicit RunList(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }

  // Looks at the folder again. A folder with a file of a run is a run; others are searched for runs
  // down to a depth of four.
  void scan();

  // Sorted by path.
  std::vector<const RunEntry*> runs() const;
  const RunEntry* find(const std::string& path) const;
  // Why runs are missing from the list; empty: none are.
  const std::string& problem() const { return problem_; }

  // Grows with every change of an entry.
  int64_t version() const { return version_; }
  struct Changes {
    std::vector<const RunEntry*> changed;
    std::vector<std::string> removed;  // paths
  };
  Changes changes_since(int64_t version) const;

  int64_t files_read() const { return files_read_; }

 private:
  struct Known {
    RunEntry entry;
    std::optional<FileStamp> stamp;                  // of summary.json when it was read
    app::RunState written = app::RunState::unknown;  // what the file says
    int64_t version = 0;
    int64_t scan = 0;  // that saw it last
    bool is_there = true;
  };

  void visit(const Folder& folder, const std::string& path, int depth);
  void note(const Folder& folder, const std::string& path, std::optional<FileStamp> stamp);
  void read_summary(const Folder& folder, Known& known);
  std::string name_of(const std::string& path) const;

  const std::filesystem::path folder_;
  std::map<std::string, Known> known_;  // by path
  std::string problem_;
  int64_t version_ = 0;
  int64_t scan_ = 0;
  int64_t visited_ = 0;  // folders, in this scan
  int64_t files_read_ = 0;
};

}  // namespace pando::board

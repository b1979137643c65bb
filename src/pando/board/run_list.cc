// SPDX-License-Identifier: MIT
#include "pando/board/run_list.h"

#include <algorithm>
#include <utility>

#include "pando/app/record/run_facts.h"
#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando::board {
namespace {

constexpr int kDeepest = 4;
// Somebody may ask for the root of the file system.
constexpr int64_t kMostFolders = 50'000;
constexpr int64_t kMostSummaryBytes = 1 << 20;

// Runs of earlier versions have no summary.
bool has_run_file(const Folder& folder) {
  return folder.has_file("config.yml") || folder.has_file("history.json") ||
         folder.has_file(app::kRunFactsFile);
}

double seconds_of(const FileStamp& stamp) { return static_cast<double>(stamp.nanoseconds) / 1e9; }

// The state in the file, unless the process that wrote it has ended.
app::RunState state_of(const Folder& folder, app::RunState written) {
  if (written != app::RunState::running) return written;
  return folder.is_locked() == false ? app::RunState::killed : app::RunState::running;
}

}  // namespace

RunList::RunList(std::filesystem::path folder) : folder_(std::move(folder)) {}

void RunList::scan() {
  ++scan_;
  visited_ = 0;
  problem_.clear();
  if (const std::optional<Folder> root = Folder::open(folder_)) {
    visit(*root, ".", 0);
    if (visited_ >= kMostFolders) {
      problem_ = concat("more than ", kMostFolders, " folders: not all of them were searched");
    }
  } else {
    problem_ = concat("there is no folder '", folder_.string(), "', or it may not be read");
  }
  for (auto& [path, known] : known_) {
    if (known.scan == scan_ || !known.is_there) continue;
    known.is_there = false;
    known.version = ++version_;
  }
}

void RunList::visit(const Folder& folder, const std::string& path, int depth) {
  if (++visited_ > kMostFolders) return;
  const std::optional<FileStamp> stamp = folder.stamp_of(app::kSummaryFile);
  if (stamp || has_run_file(folder)) return note(folder, path, stamp);
  if (depth == kDeepest) return;
  for (const std::string& name : folder.folder_names()) {
    const std::optional<Folder> next = folder.inside(name);
    if (next) visit(*next, path == "." ? name : concat(path, "/", name), depth + 1);
  }
}

void RunList::note(const Folder& folder, const std::string& path, std::optional<FileStamp> stamp) {
  auto [place, is_new] = known_.try_emplace(path);
  Known& known = place->second;
  const app::RunState before = known.entry.summary.state;
  bool is_changed = is_new || !known.is_there;
  if (is_new) {
    known.entry.path = path;
    known.entry.name = name_of(path);
  }
  if (is_changed || stamp != known.stamp) {
    is_changed = true;
    read_summary(folder, known);
  }
  known.entry.summary.state = state_of(folder, known.written);
  // A run that has ended since wrote its end before it gave up the lock.
  if (known.entry.summary.state == app::RunState::killed &&
      folder.stamp_of(app::kSummaryFile) != known.stamp) {
    is_changed = true;
    read_summary(folder, known);
    known.entry.summary.state = state_of(folder, known.written);
  }
  known.is_there = true;
  known.scan = scan_;
  if (is_changed || known.entry.summary.state != before) known.version = ++version_;
}

void RunList::read_summary(const Folder& folder, Known& known) {
  RunEntry& entry = known.entry;
  entry.summary = {};
  entry.summary.state = app::RunState::unknown;
  entry.problem.clear();
  const std::optional<Folder::Part> file = folder.read(app::kSummaryFile, 0, kMostSummaryBytes);
  known.stamp = file ? std::optional(file->stamp) : folder.stamp_of(app::kSummaryFile);
  if (file) {
    ++files_read_;
    try {
      entry.summary = app::parse_summary(file->text);
    } catch (const IoError& error) {
      entry.problem = concat(app::kSummaryFile, ": not a summary of a run: ", error.what());
    }
  } else if (known.stamp) {
    entry.problem = concat(app::kSummaryFile, ": cannot be read, or is too large");
  }
  known.written = entry.summary.state;
  const std::optional<FileStamp> history = known.stamp ? known.stamp : folder.stamp_of("log.txt");
  entry.touched = entry.summary.updated > 0 ? entry.summary.updated
                  : history                 ? seconds_of(*history)
                                            : 0;
}

std::string RunList::name_of(const std::string& path) const {
  if (path != ".") return path;
  std::error_code failure;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(folder_, failure);
  return failure || whole.filename().empty() ? folder_.string() : whole.filename().string();
}

std::vector<const RunEntry*> RunList::runs() const {
  std::vector<const RunEntry*> entries;
  for (const auto& [path, known] : known_) {
    if (known.is_there) entries.push_back(&known.entry);
  }
  return entries;
}

const RunEntry* RunList::find(const std::string& path) const {
  const auto found = known_.find(path);
  return found == known_.end() || !found->second.is_there ? nullptr : &found->second.entry;
}

RunList::Changes RunList::changes_since(int64_t version) const {
  Changes changes;
  for (const auto& [path, known] : known_) {
    if (known.version <= version) continue;
    if (known.is_there) {
      changes.changed.push_back(&known.entry);
    } else {
      changes.removed.push_back(path);
    }
  }
  return changes;
}

}  // namespace pando::board

// SPDX-License-Identifier: MIT
#include "pando/board/board.h"

#include <algorithm>
#include <utility>

#include "pando/app/html/curve_data.h"
#include "pando/app/html/summary_data.h"
#include "pando/base/error.h"
#include "pando/base/paths.h"
#include "pando/base/strings.h"
#include "pando/board/entry_json.h"

namespace pando::board {
namespace {

namespace fs = std::filesystem;

// Opened runs stay in memory for a while, for pages that come back.
constexpr size_t kMostOpen = 32;
constexpr std::chrono::minutes kLongestUnused{2};

// Weights are stored elsewhere often, and no page reads them.
bool may_lead_out(const fs::path& name) { return name == "checkpoints"; }

// A page must not show what a link of a run brings in from elsewhere.
void check_links(const fs::path& root, const fs::path& folder, const std::string& path) {
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const fs::path name = entry->path().filename();
    std::error_code ignored;
    if (!entry->is_symlink(ignored) || may_lead_out(name)) continue;
    if (!lies_inside(root, (fs::path(path) / name).string())) {
      throw IoError("'", path, "': ", name.string(), " is a link out of the folder of the board");
    }
  }
}

}  // namespace

std::string to_string(const Mark& mark) { return concat(mark.opening, ".", mark.rows); }

Mark parse_mark(const std::string& text) {
  const std::vector<std::string> parts = split(text, '.');
  const auto opening = parts.size() == 2 ? parse_int(parts[0]) : std::nullopt;
  const auto rows = parts.size() == 2 ? parse_int(parts[1]) : std::nullopt;
  if (!opening || !rows || *opening < 0 || *rows < 0) {
    throw InvalidArgument("mark: expected 'opening.rows', got '", text, "'");
  }
  return {.opening = *opening, .rows = static_cast<size_t>(*rows)};
}

Board::Board(fs::path folder) : list_(std::move(folder)) {}

void Board::scan() {
  const std::lock_guard lock(mutex_);
  list_.scan();
}

Json Board::runs() {
  const std::lock_guard lock(mutex_);
  list_.scan();
  Json::Items runs;
  for (const RunEntry* entry : list_.runs()) runs.push_back(entry_json(*entry));
  return {{"version", list_.version()},
          {"folder", list_.folder().string()},
          {"problem", list_.problem()},
          {"runs", std::move(runs)}};
}

int64_t Board::version() {
  const std::lock_guard lock(mutex_);
  return list_.version();
}

std::optional<Json> Board::changes_since(int64_t version) {
  const std::lock_guard lock(mutex_);
  if (list_.version() == version) return std::nullopt;
  const RunList::Changes changes = list_.changes_since(version);
  Json::Items changed, removed;
  for (const RunEntry* entry : changes.changed) changed.push_back(entry_json(*entry));
  for (const std::string& path : changes.removed) removed.emplace_back(id_of(path));
  return Json{{"version", list_.version()},
              {"problem", list_.problem()},
              {"changed", std::move(changed)},
              {"removed", std::move(removed)}};
}

const RunEntry& Board::entry_of(const std::string& path) const {
  const RunEntry* entry = list_.find(path);
  if (entry == nullptr) throw IoError("there is no run '", path, "'; it may have been removed");
  return *entry;
}

fs::path Board::folder_of(const std::string& path) const {
  return path == "." ? list_.folder() : list_.folder() / path;
}

std::vector<fs::path> Board::folders_of(const std::vector<std::string>& paths) {
  if (paths.empty() || paths.size() > kMostCompared) {
    throw InvalidArgument("run: expected 1 to ", kMostCompared, " runs, got ", paths.size());
  }
  const std::lock_guard lock(mutex_);
  if (std::ranges::any_of(paths, [&](const auto& path) { return list_.find(path) == nullptr; })) {
    list_.scan();  // a page may ask for a run before anybody has seen the list
  }
  std::vector<fs::path> folders;
  for (const std::string& path : paths) {
    entry_of(path);
    const std::optional<Folder> root = Folder::open(list_.folder());
    if (!root || !root->inside(path)) throw IoError("the run '", path, "' has been removed");
    folders.push_back(folder_of(path));
    check_links(list_.folder(), folders.back(), path);
  }
  return folders;
}

Json Board::open(const std::vector<std::string>& paths) {
  folders_of(paths);
  const std::lock_guard lock(mutex_);
  forget_unused(paths);
  std::vector<app::RunRecord> records;
  Json::Items runs, marks;
  for (const std::string& path : paths) {
    if (!follow(opened(path), path)) {
      close(path);
      follow(opened(path), path);
    }
    OpenRun& run = *open_.at(path);
    run.record.summary = entry_of(path).summary;
    Json json = app::run_summary(run.record);
    json["id"] = id_of(path);
    json["entry"] = entry_json(entry_of(path));
    runs.push_back(std::move(json));
    marks.emplace_back(to_string(Mark{run.opening, run.record.rows.size()}));
    records.push_back(run.record);
  }
  return {{"runs", std::move(runs)},
          {"differing", app::differing_options(records)},
          {"charts", app::curve_charts(records)},
          {"marks", std::move(marks)}};
}

Board::OpenRun& Board::opened(const std::string& path) {
  auto found = open_.find(path);
  if (found == open_.end()) {
    auto run = std::make_unique<OpenRun>();
    run->opening = ++openings_;
    run->record = app::read_run(folder_of(path), app::HistoryRows::skip);
    run->record.name = entry_of(path).name;
    found = open_.emplace(path, std::move(run)).first;
  }
  found->second->used = std::chrono::steady_clock::now();
  return *found->second;
}

void Board::close(const std::string& path) {
  const auto place = open_.find(path);
  closed_bytes_ += place->second->tail.bytes_read();
  open_.erase(place);
}

bool Board::follow(OpenRun& run, const std::string& path) {
  const std::optional<Folder> root = Folder::open(list_.folder());
  const std::optional<Folder> folder = root ? root->inside(path) : std::nullopt;
  if (!folder) return true;  // it has vanished; what is known of it stays until the page is left
  HistoryTail::News news = run.tail.read(*folder);
  if (news.restarted) return false;
  std::ranges::move(news.rows, std::back_inserter(run.record.rows));
  return true;
}

std::optional<Json> Board::news_of(const std::string& path, Mark& mark) {
  const std::lock_guard lock(mutex_);
  const Json reset = {{"run", id_of(path)}, {"reset", true}};
  const auto found = open_.find(path);
  if (found == open_.end()) return reset;
  OpenRun& run = *found->second;
  run.used = std::chrono::steady_clock::now();
  if (list_.find(path) != nullptr && !follow(run, path)) {
    close(path);
    return reset;
  }
  if (run.opening != mark.opening || run.record.rows.size() < mark.rows) return reset;
  if (run.record.rows.size() == mark.rows) return std::nullopt;
  app::RunRecord added;
  added.facts.task = run.record.facts.task;
  added.rows.assign(run.record.rows.begin() + static_cast<int64_t>(mark.rows),
                    run.record.rows.end());
  mark.rows = run.record.rows.size();
  return Json{{"run", id_of(path)},
              {"mark", to_string(mark)},
              {"charts", app::curve_charts(std::span(&added, 1))}};
}

// Keeps the runs of `kept`, which are about to be used.
void Board::forget_unused(const std::vector<std::string>& kept) {
  const auto now = std::chrono::steady_clock::now();
  const auto is_kept = [&](const std::string& path) {
    return std::ranges::find(kept, path) != kept.end();
  };
  const auto longest_unused = [&]() -> std::optional<std::string> {
    const OpenRun* oldest = nullptr;
    std::optional<std::string> found;
    for (const auto& [path, run] : open_) {
      if (is_kept(path) || (oldest != nullptr && run->used >= oldest->used)) continue;
      oldest = run.get();
      found = path;
    }
    return found;
  };
  while (const std::optional<std::string> path = longest_unused()) {
    const bool is_unused = now - open_.at(*path)->used > kLongestUnused;
    if (!is_unused && open_.size() + kept.size() <= kMostOpen) return;
    close(*path);
  }
}

int64_t Board::files_read() {
  const std::lock_guard lock(mutex_);
  return list_.files_read();
}

int64_t Board::history_bytes() {
  const std::lock_guard lock(mutex_);
  int64_t bytes = closed_bytes_;
  for (const auto& [path, run] : open_) bytes += run->tail.bytes_read();
  return bytes;
}

}  // namespace pando::board

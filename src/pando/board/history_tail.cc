// SPDX-License-Identifier: MIT
#include "pando/board/history_tail.h"

#include "pando/base/strings.h"

namespace pando::board {
namespace {

constexpr const char* kHistoryFile = "history.json";
constexpr int64_t kMostHistoryBytes = int64_t{1} << 30;

// Lines of the array that are not rows: its brackets, and the comma of a row before.
bool is_bracket(std::string_view line) { return line.find_first_not_of("[], \r") == line.npos; }

}  // namespace

HistoryTail::News HistoryTail::read(const Folder& run) {
  News news;
  std::optional<FileStamp> now = run.stamp_of(kHistoryFile);
  if (!now || now == seen_) return news;
  if (seen_ && (!now->is_same_file(*seen_) || now->bytes < offset_)) {
    news.restarted = true;
    offset_ = 0;
    skipped_ = 0;
  }
  const std::optional<Folder::Part> part = run.read(kHistoryFile, offset_, kMostHistoryBytes);
  if (!part) return news;
  if (!part->stamp.is_same_file(*now)) return read(run);  // replaced in between
  seen_ = part->stamp;
  bytes_read_ += static_cast<int64_t>(part->text.size());
  take_lines(part->text, news.rows);
  return news;
}

void HistoryTail::take_lines(std::string_view text, std::vector<app::HistoryRow>& rows) {
  size_t begin = 0, taken = 0;
  for (size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    const std::string_view line = text.substr(begin, end - begin);
    if (is_bracket(line)) continue;
    if (std::optional<app::HistoryRow> row = app::parse_history_line(line)) {
      rows.push_back(std::move(*row));
    } else {
      ++skipped_;
    }
    // The brackets after the last row are not taken: the next row is written over them.
    taken = begin + line.find_last_not_of(", \r") + 1;
  }
  offset_ += static_cast<int64_t>(taken);
}

}  // namespace pando::board

// Follows the history of a run while it grows: every byte that is appended is read once.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pando/app/record/history_writer.h"
#include "pando/board/folder.h"

namespace pando::board {

// Used by one thread.
class HistoryTail {
 public:
  struct News {
    bool restarted = false;  // the file was replaced or became shorter: `rows` are all there are
    std::vector<app::HistoryRow> rows;
  };

  // The complete rows since the last call. A line without its end is read again when it has one; a
  // complete line that is not a row is skipped. No file: no rows.
  News read(const Folder& run);

  int64_t bytes_read() const { return bytes_read_; }
  int64_t skipped() const { return skipped_; }  // damaged lines

 private:
  void take_lines(std::string_view text, std::vector<app::HistoryRow>& rows);

  std::optional<FileStamp> seen_;
  int64_t offset_ = 0;  // the end of the last row, where the next one is appended
  int64_t bytes_read_ = 0;
  int64_t skipped_ = 0;
};

}  // namespace pando::board

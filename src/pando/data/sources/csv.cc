// SPDX-License-Identifier: MIT
#include "pando/data/sources/csv.h"

#include <algorithm>
#include <utility>

#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando::data {

namespace {

// Reads a table from front to back.
class CsvReader {
 public:
  CsvReader(std::string_view content, const std::string& place) : rest_(content), place_(place) {
    constexpr std::string_view kMark = "\xef\xbb\xbf";
    if (rest_.starts_with(kMark)) rest_.remove_prefix(kMark.size());
  }

  std::vector<CsvRow> read() {
    std::vector<CsvRow> rows;
    while (!rest_.empty()) {
      CsvRow row{.line = line_, .cells = {}};
      do {
        row.cells.push_back(next_cell());
      } while (take(','));
      end_line();
      const bool is_empty = row.cells.size() == 1 && row.cells[0].empty();
      if (!is_empty) rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  bool take(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Takes the end of a line, if there is one.
  void end_line() {
    const bool carriage_return = take('\r');
    if (take('\n') || carriage_return) ++line_;
  }

  void skip_blanks() {
    while (take(' ') || take('\t')) {
    }
  }

  std::string next_cell() {
    skip_blanks();
    if (take('"')) return quoted_cell();
    const size_t end = std::min(rest_.find_first_of(",\r\n"), rest_.size());
    std::string cell(trim(rest_.substr(0, end)));
    rest_.remove_prefix(end);
    return checked(std::move(cell));
  }

  std::string quoted_cell() {
    const int64_t begin = line_;
    std::string cell;
    for (;;) {
      const size_t quote = rest_.find('"');
      if (quote == std::string_view::npos) {
        throw IoError(place_, ": line ", begin, ": a quote is not closed, expected \" at its end");
      }
      cell += rest_.substr(0, quote);
      rest_.remove_prefix(quote + 1);
      if (!take('"')) break;
      cell += '"';
    }
    line_ += std::ranges::count(cell, '\n');
    skip_blanks();
    if (!rest_.empty() && rest_.find_first_of(",\r\n") != 0) {
      throw IoError(place_, ": line ", line_,
                    ": text follows a closing quote, expected a comma; write quotes inside of a "
                    "cell twice");
    }
    return checked(std::move(cell));
  }

  std::string checked(std::string cell) const {
    if (cell.find('\0') == std::string::npos) return cell;
    throw IoError(place_, ": line ", line_, ": has a zero byte, expected text");
  }

  std::string_view rest_;
  const std::string& place_;
  int64_t line_ = 1;
};

}  // namespace

std::vector<CsvRow> parse_csv(std::string_view content, const std::string& place) {
  return CsvReader(content, place).read();
}

}  // namespace pando::data

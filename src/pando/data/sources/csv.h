// Tables as text: comma-separated values (RFC 4180).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pando::data {

struct CsvRow {
  int64_t line = 0;  // where it begins, from 1
  std::vector<std::string> cells;
};

// The rows of a table, without empty lines. Cells in double quotes may hold commas, line breaks
// and, doubled, quotes; other cells lose the blanks around them. Lines end with \n, \r\n or \r; a
// byte order mark at the start is left out. Throws IoError with `place` and the line for a quote
// that is not closed, text after a closing quote, and a zero byte.
std::vector<CsvRow> parse_csv(std::string_view content, const std::string& place);

}  // namespace pando::data

// SPDX-License-Identifier: MIT
#include "pando/data/sources/csv.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;
using Cells = std::vector<std::string>;

std::vector<Cells> cells_of(const std::string& text) {
  std::vector<Cells> rows;
  for (const data::CsvRow& row : data::parse_csv(text, "t.csv")) rows.push_back(row.cells);
  return rows;
}

TEST(Csv, RowsOfCells) {
  EXPECT_EQ(cells_of("a,b\nc,d\n"), (std::vector<Cells>{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(cells_of("a,b\r\n\r\n c , d"), (std::vector<Cells>{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(cells_of("a\rb\r"), (std::vector<Cells>{{"a"}, {"b"}}));
  EXPECT_EQ(cells_of("\xef\xbb\xbf"
                     "a,,\n,"),
            (std::vector<Cells>{{"a", "", ""}, {"", ""}}));
  EXPECT_TRUE(cells_of("\n\n").empty());
  EXPECT_TRUE(cells_of("").empty());
}

TEST(Csv, CellsInQuotes) {
  EXPECT_EQ(cells_of("\"a,b\", \"c \"\"d\"\"\" ,\"\"\n"),
            (std::vector<Cells>{{"a,b", "c \"d\"", ""}}));
  EXPECT_EQ(cells_of("\"two\nlines\",x\ny"), (std::vector<Cells>{{"two\nlines", "x"}, {"y"}}));
}

TEST(Csv, RowsKnowTheirLines) {
  const auto rows = data::parse_csv("a\n\n\"b\nc\"\nd", "t.csv");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].line, 3);
  EXPECT_EQ(rows[2].line, 5);
}

TEST(Csv, SaysWhatIsWrong) {
  const auto error = [](const std::string& text) {
    return error_of<IoError>([&] { data::parse_csv(text, "t.csv"); });
  };
  EXPECT_SAYS(error("a\n\"b\n"), "t.csv: line 2", "not closed");
  EXPECT_SAYS(error("a,\"b\"c\n"), "t.csv: line 1", "closing quote");
  EXPECT_SAYS(error(std::string("a\nb\0c", 5)), "t.csv: line 2", "zero byte");
}

}  // namespace
}  // namespace pando

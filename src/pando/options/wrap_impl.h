// Breaks texts into lines.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

namespace pando {

// Where the lines of a text end and begin.
struct Lines {
  size_t columns = 100;
  size_t indent = 0;  // spaces in front of every line but the first
  size_t column = 0;  // where the first line goes on
};

// Breaks at spaces. A longer word has a line of its own.
std::string wrap(const std::string& words, const Lines& lines);

}  // namespace pando

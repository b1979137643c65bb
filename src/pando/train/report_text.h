// Names of classes in the tables of reports.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace pando::train {

inline constexpr size_t kWidestName = 24;

// The width of a column for these names and one other text.
inline size_t name_width(const std::vector<std::string>& names, std::string_view other = "class") {
  size_t width = other.size();
  for (const std::string& name : names) width = std::max(width, std::min(name.size(), kWidestName));
  return width;
}

// Cuts a name that would widen the table, but not inside a UTF-8 character.
inline std::string short_name(const std::string& name, size_t width) {
  if (name.size() <= width) return name;
  size_t end = width - 2;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
  return name.substr(0, end) + "..";
}

// Quotes a text that would otherwise be read as more than one field.
inline std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace pando::train

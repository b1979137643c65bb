// SPDX-License-Identifier: MIT
#include "pando/base/strings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <sstream>

namespace pando {

std::string concat_values(std::span<const StreamedValue> values) {
  std::ostringstream out;
  for (const StreamedValue& one : values) one.write(out, one.value);
  return out.str();
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    if (end == std::string_view::npos) break;
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::string_view trim(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

namespace {

template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<int64_t> parse_int(std::string_view text) { return parse_number<int64_t>(text); }
std::optional<double> parse_double(std::string_view text) { return parse_number<double>(text); }

int edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment: rows i-2, i-1 and i of the usual table.
  std::vector<int> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

std::vector<std::string> nearest_first(std::string_view name, std::vector<std::string> known) {
  const std::string wanted = to_lower(name);
  struct Candidate {
    int rank;
    int edits;
    std::string text;
  };
  std::vector<Candidate> candidates;
  for (std::string& text : known) {
    const std::string lowered = to_lower(text);
    const int edits = edit_distance(wanted, lowered);
    // A candidate that contains the name counts as near at any length.
    const bool contains = !wanted.empty() && lowered.find(wanted) != std::string::npos;
    candidates.push_back({contains ? std::min(edits, 1) : edits, edits, std::move(text)});
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return std::pair(a.rank, a.edits) < std::pair(b.rank, b.edits);
  });
  for (size_t i = 0; i < known.size(); ++i) known[i] = std::move(candidates[i].text);
  return known;
}

std::optional<std::string> nearest_name(std::string_view name,
                                        const std::vector<std::string>& known) {
  if (known.empty() || name.empty()) return std::nullopt;
  const std::string wanted = to_lower(name);
  const std::string first = nearest_first(name, known).front();
  const std::string lowered = to_lower(first);
  const bool is_near = edit_distance(wanted, lowered) <= static_cast<int>(name.size() / 3) + 1 ||
                       lowered.find(wanted) != std::string::npos;
  return is_near ? std::optional(first) : std::nullopt;
}

std::string unknown_name_message(std::string_view what, std::string_view name,
                                 const std::vector<std::string>& known) {
  const std::vector<std::string> ordered = nearest_first(name, known);
  std::string message = concat("unknown ", what, " '", name, "'");
  if (ordered.empty()) return message;
  const bool near = nearest_name(name, known).has_value();
  if (near) message += concat("; did you mean '", ordered.front(), "'?");
  return message + concat(near ? " known: " : "; known: ", join(ordered, ", "));
}

std::string counted(int64_t count, std::string_view word) {
  return concat(count, " ", word, count == 1 ? "" : "s");
}

std::string with_thousands(int64_t value) {
  std::string digits = std::to_string(value);
  const size_t first = digits.front() == '-' ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::string human_bytes(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", bytes, kUnits[unit]);
  return text.data();
}

}  // namespace pando

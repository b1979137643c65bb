// Joining, splitting, parsing and comparing strings.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pando {

// A value and how to stream it. The code that streams exists once per type of value, not once per
// call of concat, which keeps the build quick.
struct StreamedValue {
  const void* value;
  void (*write)(std::ostream& out, const void* value);
};

template <typename Value>
StreamedValue streamed(const Value& value) {
  return {&value, [](std::ostream& out, const void* at) { out << *static_cast<const Value*>(at); }};
}
// A string literal, of any length.
inline StreamedValue streamed(const char* text) {
  return {text, [](std::ostream& out, const void* at) { out << static_cast<const char*>(at); }};
}
template <size_t size>
StreamedValue streamed(const char (&text)[size]) {
  return streamed(static_cast<const char*>(text));
}

std::string concat_values(std::span<const StreamedValue> values);

// Streams the arguments one after the other into a string.
template <typename... Parts>
std::string concat(const Parts&... parts) {
  const StreamedValue values[] = {streamed(parts)...};
  return concat_values(values);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);

// Parses the whole of `text` as a number; returns nothing if any of it is not part of the number.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<double> parse_double(std::string_view text);

// How many single-character edits (insert, delete, replace, swap) turn one into the other.
int edit_distance(std::string_view a, std::string_view b);

// Sorts `known` by similarity to `name`, the most similar first; ties keep their order.
std::vector<std::string> nearest_first(std::string_view name, std::vector<std::string> known);

// The first of them if it is similar enough to be what `name` was meant to be.
std::optional<std::string> nearest_name(std::string_view name,
                                        const std::vector<std::string>& known);

// "unknown <what> 'name'; did you mean 'x'? known: a, b, c" (no question if no name is near).
std::string unknown_name_message(std::string_view what, std::string_view name,
                                 const std::vector<std::string>& known);

// "1 sample", "2 samples".
std::string counted(int64_t count, std::string_view word);
// 1234567 -> "1,234,567"; 1536 bytes -> "1.5 KiB".
std::string with_thousands(int64_t value);
std::string human_bytes(double bytes);

}  // namespace pando

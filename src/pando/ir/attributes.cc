// SPDX-License-Identifier: MIT
#include "pando/ir/attributes.h"

#include <array>
#include <charconv>

#include "pando/base/error.h"

namespace pando::ir {

std::string_view kind_name(const Attribute& attribute) {
  constexpr std::array<std::string_view, 5> kNames = {"an integer", "a number", "a string",
                                                      "a list of integers", "a list of numbers"};
  return kNames[attribute.index()];
}

namespace {

std::string double_text(double value) {
  std::array<char, 40> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), result.ptr);
  // A whole number must read back as a number, not as an integer.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

template <typename T>
T get_as(const Attributes::Map& values, std::string_view name, T fallback) {
  const auto found = values.find(name);
  if (found == values.end()) return fallback;
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  throw InvalidArgument("attribute '", name, "': expected ", kind_name(Attribute(T{})), ", got ",
                        kind_name(found->second));
}

}  // namespace

std::string to_text(const Attribute& attribute) {
  if (const auto* integer = std::get_if<int64_t>(&attribute)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&attribute)) return double_text(*number);
  if (const auto* text = std::get_if<std::string>(&attribute)) return quoted(*text);
  std::vector<std::string> items;
  if (const auto* numbers = std::get_if<Numbers>(&attribute)) {
    for (const double item : *numbers) items.push_back(double_text(item));
    return "[" + join(items, ",") + "]";
  }
  for (const int64_t item : std::get<Ints>(attribute)) items.push_back(std::to_string(item));
  return "[" + join(items, ",") + "]";
}

void Attributes::erase(std::string_view name) {
  const auto found = values_.find(name);
  if (found != values_.end()) values_.erase(found);
}

int64_t Attributes::get_int(std::string_view name, int64_t fallback) const {
  return get_as<int64_t>(values_, name, fallback);
}

double Attributes::get_double(std::string_view name, double fallback) const {
  const auto found = values_.find(name);
  if (found != values_.end()) {
    if (const auto* integer = std::get_if<int64_t>(&found->second)) {
      return static_cast<double>(*integer);
    }
  }
  return get_as<double>(values_, name, fallback);
}

std::string Attributes::get_string(std::string_view name, std::string fallback) const {
  return get_as<std::string>(values_, name, std::move(fallback));
}

Ints Attributes::get_ints(std::string_view name, Ints fallback) const {
  return get_as<Ints>(values_, name, std::move(fallback));
}

}  // namespace pando::ir

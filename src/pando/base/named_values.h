// Lists of pairs of a name and a value, in an order that counts; few enough to be searched.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace pando {

// The value of the first pair with this name; null: there is none.
template <typename Pairs>
auto find_named(Pairs& pairs, std::string_view name) -> decltype(&pairs.begin()->second) {
  for (auto& pair : pairs) {
    if (pair.first == name) return &pair.second;
  }
  return nullptr;
}

// Replaces the value of this name, or appends a pair.
template <typename Pairs, typename Value>
void set_named(Pairs& pairs, std::string_view name, const Value& value) {
  if (auto* const found = find_named(pairs, name)) {
    *found = value;
  } else {
    pairs.emplace_back(name, value);
  }
}

}  // namespace pando

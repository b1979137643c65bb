// Named attributes of a node: numbers, strings and lists of numbers, in order of name.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pando::ir {

using Ints = std::vector<int64_t>;
using Numbers = std::vector<double>;
using Attribute = std::variant<int64_t, double, std::string, Ints, Numbers>;

// "an integer", "a number", "a string", "a list of integers", "a list of numbers".
std::string_view kind_name(const Attribute& attribute);

// The attribute as IR text: 3, 0.5, "same", [1,1], [0.5,1.0]. Numbers round-trip exactly; an empty
// list is read back as a list of integers.
std::string to_text(const Attribute& attribute);

// Attributes of one node. get_* returns the fallback if the name is absent and throws
// InvalidArgument if the attribute is of another kind.
class Attributes {
 public:
  using Map = std::map<std::string, Attribute, std::less<>>;

  Attributes() = default;
  Attributes(std::initializer_list<Map::value_type> values) : values_(values) {}

  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  void set(std::string name, Attribute value) { values_[std::move(name)] = std::move(value); }
  void erase(std::string_view name);

  int64_t get_int(std::string_view name, int64_t fallback = 0) const;
  double get_double(std::string_view name, double fallback = 0) const;  // also takes an integer
  std::string get_string(std::string_view name, std::string fallback = "") const;
  Ints get_ints(std::string_view name, Ints fallback = {}) const;

  bool empty() const { return values_.empty(); }
  const Map& values() const { return values_; }
  bool operator==(const Attributes&) const = default;

 private:
  Map values_;
};

}  // namespace pando::ir

// Named numbers and texts that a user passes to model and input functions.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "pando/base/error.h"

namespace pando {

using Param = std::variant<bool, int64_t, double, std::string>;

// The type of a parameter for messages: "a bool", "a whole number", ...
const char* type_name(const Param& value);

class Params {
 public:
  Params() = default;
  Params(std::initializer_list<std::pair<const std::string, Param>> values) : values_(values) {}

  bool contains(const std::string& name) const { return values_.contains(name); }
  void set(const std::string& name, Param value) { values_[name] = std::move(value); }
  const std::map<std::string, Param>& values() const { return values_; }

  // A whole number is also accepted as a double. Throws InvalidArgument for an unknown name, with
  // the known names, and for a different type.
  bool get_bool(const std::string& name) const;
  int64_t get_int(const std::string& name) const;
  double get_double(const std::string& name) const;
  const std::string& get_string(const std::string& name) const;

 private:
  const Param& at(const std::string& name) const;

  std::map<std::string, Param> values_;
};

}  // namespace pando

// SPDX-License-Identifier: MIT
#include "pando/estimator/params.h"

#include <vector>

#include "pando/base/strings.h"

namespace pando {

const char* type_name(const Param& value) {
  switch (value.index()) {
    case 0: return "a bool";
    case 1: return "a whole number";
    case 2: return "a number";
    default: return "text";
  }
}

const Param& Params::at(const std::string& name) const {
  if (const auto found = values_.find(name); found != values_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& entry : values_) known.push_back(entry.first);
  throw InvalidArgument(unknown_name_message("parameter", name, known));
}

namespace {

template <typename T>
const T& typed(const std::string& name, const Param& value) {
  if (const T* found = std::get_if<T>(&value)) return *found;
  throw InvalidArgument("parameter '", name, "': expected ", type_name(Param(T{})), ", got ",
                        type_name(value));
}

}  // namespace

bool Params::get_bool(const std::string& name) const { return typed<bool>(name, at(name)); }

int64_t Params::get_int(const std::string& name) const { return typed<int64_t>(name, at(name)); }

double Params::get_double(const std::string& name) const {
  const Param& value = at(name);
  if (const int64_t* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  return typed<double>(name, value);
}

const std::string& Params::get_string(const std::string& name) const {
  return typed<std::string>(name, at(name));
}

}  // namespace pando

// SPDX-License-Identifier: MIT
#include "pando/options/parameter_fields.h"

namespace pando {

namespace {

template <typename T>
std::optional<double> number_of(const std::map<std::string, std::optional<T>>& fields,
                                const std::string& name) {
  const auto found = fields.find(name);
  if (found == fields.end() || !found->second) return std::nullopt;
  return static_cast<double>(*found->second);
}

}  // namespace

void ParameterFields::add_key(OptionTable& dictionary, const std::string& name,
                              ParameterRange range) {
  if (range == ParameterRange::on_off) {
    dictionary.add(name, switches_[name], "");
    return;
  }
  if (range == ParameterRange::count) {
    dictionary.add(name, counts_[name], "").at_least(1);
    return;
  }
  Option& key = dictionary.add(name, numbers_[name], "");
  if (range == ParameterRange::positive) key.above(0);
  if (range == ParameterRange::not_negative) key.at_least(0);
  if (range == ParameterRange::share) key.at_least(0).at_most(1);
  if (range == ParameterRange::fraction) key.at_least(0).below(1);
}

std::optional<double> ParameterFields::get(const std::string& name) const {
  if (const auto number = number_of(numbers_, name)) return number;
  if (const auto count = number_of(counts_, name)) return count;
  return number_of(switches_, name);
}

void ParameterFields::set(const std::string& name, ParameterRange range, double value) {
  if (range == ParameterRange::on_off) {
    switches_[name] = value != 0;
  } else if (range == ParameterRange::count) {
    counts_[name] = static_cast<int64_t>(value);
  } else {
    numbers_[name] = value;
  }
}

}  // namespace pando

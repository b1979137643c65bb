// A setting of each output of a network, as users give it: one for all outputs, a list in their
// order, or some by name.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/nn/network.h"

namespace pando {

template <typename T>
class PerOutput {
 public:
  PerOutput() = default;  // none
  // NOLINTBEGIN(google-explicit-constructor): a setting for all reads well
  template <typename Like>
  requires std::convertible_to<Like, T> PerOutput(Like one) : all_(std::move(one)) {}
  PerOutput(std::vector<T> list) : list_(std::move(list)) {}
  PerOutput(std::map<std::string, T> by_name) : by_name_(std::move(by_name)) {}
  PerOutput(std::initializer_list<std::pair<const std::string, T>> by_name) : by_name_(by_name) {}
  // NOLINTEND(google-explicit-constructor)

  // The setting of output `i`; null if it has none. Throws InvalidArgument, which begins with
  // `what`, if a list has another length or a name is of no output.
  const T* of(size_t i, const std::vector<NetworkOutput>& outputs, const std::string& what) const {
    if (all_) return &*all_;
    std::vector<std::string> known;
    for (const NetworkOutput& output : outputs) known.push_back(output.name);
    for (const auto& [name, setting] : by_name_) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      throw InvalidArgument(what, ": ", unknown_name_message("output", name, known));
    }
    if (const auto found = by_name_.find(known[i]); found != by_name_.end()) return &found->second;
    if (list_.empty()) return nullptr;
    if (list_.size() != outputs.size()) {
      throw InvalidArgument(what, ": expected one for each of the ", outputs.size(), " outputs (",
                            join(known, ", "), "), got ", list_.size());
    }
    return &list_[i];
  }

  bool is_for_all() const { return all_.has_value(); }

 private:
  std::optional<T> all_;
  std::vector<T> list_;
  std::map<std::string, T> by_name_;
};

}  // namespace pando

// SPDX-License-Identifier: MIT
#include "pando/runtime/variables.h"

#include <utility>

namespace pando::runtime {

Variable& VariableStore::add(std::string name, Tensor value, double moving_momentum,
                             bool follows_variance) {
  PANDO_CHECK(index_.emplace(name, variables_.size()).second, "variable '", name, "' exists twice");
  variables_.push_back({std::move(name), std::move(value), moving_momentum, follows_variance, {}});
  return variables_.back();
}

const Variable& VariableStore::get(std::string_view name) const {
  const auto found = index_.find(name);
  PANDO_CHECK(found != index_.end(), "no variable '", name, "'");
  return variables_[found->second];
}

Variable& VariableStore::get(std::string_view name) {
  return const_cast<Variable&>(std::as_const(*this).get(name));
}

void VariableStore::ensure_slots(size_t count) {
  for (Variable& variable : variables_) {
    if (variable.is_state() || variable.slots.size() == count) continue;
    variable.slots.clear();
    for (size_t i = 0; i < count; ++i) {
      variable.slots.emplace_back(DType::f32, variable.value.shape());
    }
  }
}

}  // namespace pando::runtime

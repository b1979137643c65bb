// SPDX-License-Identifier: MIT
#include "pando/runtime/program/variables.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "pando/tensor/half_rounding.h"

namespace pando::runtime {

namespace {

void convert_tensor(Tensor& tensor, DType type) {
  if (tensor.dtype() == type) return;
  Tensor converted(type, tensor.shape());
  assign_numbers(tensor, converted);
  tensor = std::move(converted);
}

}  // namespace

DType slot_type(const SlotSpec& slot, DType weights) {
  const bool wide = slot.is_average || (slot.squares && weights == DType::f16);
  return wide ? DType::f32 : weights;
}

void reset_slot(const SlotSpec& slot, const Tensor& weights, Tensor& values) {
  if (slot.is_average) return assign_numbers(weights, values);
  if (slot.initial == 0) {
    std::memset(values.data(), 0, values.bytes());
    return;
  }
  Tensor initial(DType::f32, values.shape());
  std::ranges::fill(initial.f32(), slot.initial);
  assign_numbers(initial, values);
}

void assign_numbers(const Tensor& from, Tensor& to) {
  PANDO_CHECK(from.shape() == to.shape(), from.shape(), " to ", to.shape());
  if (from.dtype() == to.dtype()) {
    std::memcpy(to.data(), from.data(), from.bytes());
    return;
  }
  const auto* halves = reinterpret_cast<const uint16_t*>(from.data());
  if (from.dtype() == DType::f32) {
    round_halves(to.dtype(), from.f32().data(), reinterpret_cast<uint16_t*>(to.data()),
                 from.elements(), {});
  } else if (to.dtype() == DType::f32) {
    widen_halves(from.dtype(), halves, to.f32().data(), from.elements());
  } else {
    Tensor wide(DType::f32, from.shape());
    assign_numbers(from, wide);
    assign_numbers(wide, to);
  }
}

Variable& VariableStore::add(std::string name, Tensor value, double moving_momentum,
                             bool follows_variance) {
  PANDO_CHECK(index_.emplace(name, variables_.size()).second, "variable '", name, "' exists twice");
  changed();
  variables_.push_back({std::move(name), std::move(value), moving_momentum, follows_variance, {}});
  return variables_.back();
}

const Variable& VariableStore::get(std::string_view name) const {
  const auto found = index_.find(name);
  PANDO_CHECK(found != index_.end(), "no variable '", name, "'");
  return variables_[found->second];
}

Variable& VariableStore::get(std::string_view name) {
  changed();
  return const_cast<Variable&>(std::as_const(*this).get(name));
}

void VariableStore::ensure_slots(const UpdateRule& rule) {
  std::vector<SlotSpec> slots = rule.slots();
  if (slots != slots_) drop_slots();
  slots_ = std::move(slots);
  for (Variable& variable : variables_) {
    if (variable.is_state() || !variable.slots.empty()) continue;
    for (const SlotSpec& slot : slots_) {
      const DType type = slot_type(slot, variable.value.dtype());
      Tensor& values = variable.slots.emplace_back(type, variable.value.shape());
      reset_slot(slot, variable.value, values);
    }
  }
}

void VariableStore::drop_slots() {
  for (Variable& variable : variables_) variable.slots.clear();
}

bool VariableStore::has_averages() const {
  return std::ranges::any_of(
      variables_, [&](const Variable& variable) { return average_of(variable) != nullptr; });
}

const Tensor* VariableStore::average_of(const Variable& variable) const {
  const bool has = !slots_.empty() && slots_.back().is_average && !variable.slots.empty();
  return has ? &variable.slots.back() : nullptr;
}

Tensor* VariableStore::average_of(Variable& variable) const {
  return const_cast<Tensor*>(average_of(std::as_const(variable)));
}

const Tensor& VariableStore::shown(const Variable& variable) const {
  const Tensor* average = average_of(variable);
  return average == nullptr || shows_averages_ ? variable.value : *average;
}

void VariableStore::adopt_averages() {
  changed();
  for (Variable& variable : variables_) {
    if (const Tensor* average = average_of(variable)) assign_numbers(*average, variable.value);
  }
}

void VariableStore::convert(DType type) {
  changed();
  for (Variable& variable : variables_) {
    if (variable.is_state()) continue;
    convert_tensor(variable.value, type);
    for (size_t i = 0; i < variable.slots.size(); ++i) {
      convert_tensor(variable.slots[i], slot_type(slots_[i], type));
    }
  }
}

}  // namespace pando::runtime

// SPDX-License-Identifier: MIT
#include "pando/runtime/program/variables.h"

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

DType slot_type(bool squares, DType weights) {
  return squares && weights == DType::f16 ? DType::f32 : weights;
}

}  // namespace

DType slot_type(const UpdateRule& rule, size_t slot, DType weights) {
  return slot_type(rule.holds_squares(slot), weights);
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

void VariableStore::ensure_slots(const UpdateRule& rule) {
  std::vector<bool> squares(rule.slot_names().size());
  for (size_t i = 0; i < squares.size(); ++i) squares[i] = rule.holds_squares(i);
  if (squares != squares_) drop_slots();
  squares_ = std::move(squares);
  for (Variable& variable : variables_) {
    if (variable.is_state() || !variable.slots.empty()) continue;
    for (const bool holds : squares_) {
      variable.slots.emplace_back(slot_type(holds, variable.value.dtype()), variable.value.shape());
    }
  }
}

void VariableStore::drop_slots() {
  for (Variable& variable : variables_) variable.slots.clear();
}

void VariableStore::convert(DType type) {
  for (Variable& variable : variables_) {
    if (variable.is_state()) continue;
    convert_tensor(variable.value, type);
    for (size_t i = 0; i < variable.slots.size(); ++i) {
      convert_tensor(variable.slots[i], slot_type(squares_[i], type));
    }
  }
}

}  // namespace pando::runtime

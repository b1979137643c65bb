// The variables of a model: one copy of the weights, of the moving statistics and of the
// optimizer's slots, shared by all programs of the model. Weights and slots are stored in f32 or in
// a 16-bit type, statistics in f32.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pando/optim/optimizer.h"
#include "pando/tensor/tensor.h"

namespace pando::runtime {

// One variable. Without `moving_momentum` (below 0) it is trained; with it, it is state that a
// weight update moves towards a statistic of its global batch: v = v * momentum + statistic *
// (1 - momentum).
struct Variable {
  std::string name;
  Tensor value;
  double moving_momentum = -1;
  bool follows_variance = false;  // of state: the unbiased variance instead of the mean
  std::vector<Tensor> slots;

  bool is_state() const { return moving_momentum >= 0; }
};

// The numbers of a tensor of the same shape in the type of `to`: f32, f16 or bf16. Rounds to
// nearest; what is too large becomes the largest number.
void assign_numbers(const Tensor& from, Tensor& to);

// What a slot is stored in beside weights of a type: the same, but squares in f32 beside f16, where
// they would vanish.
DType slot_type(const SlotSpec& slot, DType weights);

// Makes a slot what it is before the first update.
void reset_slot(const SlotSpec& slot, Tensor& values);

// Addresses of values and slots stay the same until convert(). Not thread-safe; executions change
// variables, so nobody else may touch the store while one runs.
class VariableStore {
 public:
  Variable& add(std::string name, Tensor value, double moving_momentum = -1,
                bool follows_variance = false);
  Variable& get(std::string_view name);  // throws InternalError for an unknown name
  const Variable& get(std::string_view name) const;
  std::vector<Variable>& all() { return variables_; }
  const std::vector<Variable>& all() const { return variables_; }
  void reserve(size_t count) { variables_.reserve(count); }

  // Gives every trained variable the slots of a rule, as they are before the first update, unless
  // it has such slots already.
  void ensure_slots(const UpdateRule& rule);
  void drop_slots();

  // Stores the trained variables in this type from now on, and their slots as it goes with it. No
  // program may be bound to those that change.
  void convert(DType type);

 private:
  std::vector<Variable> variables_;
  std::vector<SlotSpec> slots_;  // of every trained variable, once it has some
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace pando::runtime

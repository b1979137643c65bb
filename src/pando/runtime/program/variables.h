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

// Copies the numbers of a tensor to one of the same shape, in the type of `to`: f32, f16 or bf16.
// Rounds to nearest; numbers that are too large become the largest number.
void assign_numbers(const Tensor& from, Tensor& to);

// The type of a slot if weights have this type: the same, except that averages are f32, and squares
// if weights are f16, in which they would vanish.
DType slot_type(const SlotSpec& slot, DType weights);

// Sets a slot of a variable with these weights to its values before the first update.
void reset_slot(const SlotSpec& slot, const Tensor& weights, Tensor& values);

// Addresses of values and slots stay the same until convert(). Not thread-safe; executions change
// variables, so nothing else may use the store while one runs. A caller that gets a non-const
// variable may change it until it asks for the version; it announces later changes by changed().
class VariableStore {
 public:
  Variable& add(std::string name, Tensor value, double moving_momentum = -1,
                bool follows_variance = false);
  Variable& get(std::string_view name);  // throws InternalError for an unknown name
  const Variable& get(std::string_view name) const;
  std::vector<Variable>& all() {
    changed();
    return variables_;
  }
  const std::vector<Variable>& all() const { return variables_; }
  void reserve(size_t count) { variables_.reserve(count); }

  // While the version stays the same, so do the values: what was made of them is still good.
  uint64_t version() const { return version_; }
  void changed() { ++version_; }

  // Gives every trained variable the initial slots of a rule, unless it already has these slots.
  void ensure_slots(const UpdateRule& rule);
  void drop_slots();

  // Whether trained variables have moving averages, which users see instead of the values.
  bool has_averages() const;
  // The average of a variable; null if it has none.
  Tensor* average_of(Variable& variable) const;
  const Tensor* average_of(const Variable& variable) const;
  // The average, or the value of a variable without one.
  const Tensor& shown(const Variable& variable) const;
  // Makes the averages the values.
  void adopt_averages();
  // Whether the values are the averages for a while (averaged_weights.h).
  bool shows_averages() const { return shows_averages_; }
  void set_shows_averages(bool shows) { shows_averages_ = shows; }

  // Converts the trained variables to this type, and their slots to the type that slot_type()
  // gives. Requires: no program is bound to variables that change.
  void convert(DType type);

 private:
  std::vector<Variable> variables_;
  std::vector<SlotSpec> slots_;  // of every trained variable, once it has some
  bool shows_averages_ = false;
  std::map<std::string, size_t, std::less<>> index_;
  uint64_t version_ = 0;
};

}  // namespace pando::runtime

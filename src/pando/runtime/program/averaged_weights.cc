// SPDX-License-Identifier: MIT
#include "pando/runtime/program/averaged_weights.h"

#include <algorithm>
#include <cstring>

namespace pando::runtime {

namespace {

// Values of f32 change places with their averages, which takes no memory.
bool changes_places(const Variable& variable) { return variable.value.dtype() == DType::f32; }

void exchange_contents(Tensor& a, Tensor& b) { std::ranges::swap_ranges(a.f32(), b.f32()); }

}  // namespace

AveragedWeights::AveragedWeights(VariableStore& variables)
    : variables_(variables), acts_(variables.has_averages() && !variables.shows_averages()) {
  if (!acts_) return;
  for (Variable& variable : variables_.all()) {
    Tensor* average = variables_.average_of(variable);
    if (average == nullptr || changes_places(variable)) continue;
    kept_.push_back(variable.value);
  }
  for (Variable& variable : variables_.all()) {
    Tensor* average = variables_.average_of(variable);
    if (average == nullptr) continue;
    if (changes_places(variable)) {
      exchange_contents(variable.value, *average);
    } else {
      assign_numbers(*average, variable.value);
    }
  }
  variables_.set_shows_averages(true);
}

AveragedWeights::~AveragedWeights() {
  if (!acts_) return;
  size_t next = 0;
  for (Variable& variable : variables_.all()) {
    Tensor* average = variables_.average_of(variable);
    if (average == nullptr) continue;
    if (changes_places(variable)) {
      exchange_contents(variable.value, *average);
    } else {
      const Tensor& kept = kept_[next++];
      std::memcpy(variable.value.data(), kept.data(), kept.bytes());
    }
  }
  variables_.set_shows_averages(false);
}

}  // namespace pando::runtime

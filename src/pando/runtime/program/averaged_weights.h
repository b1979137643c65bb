// Runs programs with the moving averages of the variables.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "pando/runtime/program/variables.h"

namespace pando::runtime {

// While it lives, the trained variables hold their averages, at the same addresses, rounded if they
// are stored in 16 bits; afterwards they are as before. Does nothing without averages, or while
// another object of this class exists. Requires: no execution runs when it begins and ends.
class AveragedWeights {
 public:
  explicit AveragedWeights(VariableStore& variables);
  ~AveragedWeights();
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  VariableStore& variables_;
  bool acts_;
  std::vector<Tensor> kept_;  // the values of variables of 16 bits, in their order
};

}  // namespace pando::runtime

// The weight update: sums the gradients of all slices in slice order and applies the optimizer,
// each worker to its own part of every variable.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "pando/optim/optimizer.h"
#include "pando/runtime/instance.h"

namespace pando::runtime {

// Requires: the instance and the variables outlive it.
class Updater {
 public:
  Updater(const Instance& instance, VariableStore& variables, const UpdateRule& rule);

  // Called by every worker after all slices are done with the step.
  void update(int worker, const UpdateStep& step) const;

 private:
  struct Trained {
    float* weights = nullptr;
    std::array<float*, 2> slots = {};
    std::vector<const float*> gradients;  // one per slice
    int64_t elements = 0;
  };
  struct Moving {
    float* value = nullptr;
    const float* statistic = nullptr;
    float momentum = 0;
    int64_t elements = 0;
  };

  void update_part(const Trained& trained, kernels::Part part, const UpdateStep& step) const;

  const UpdateRule& rule_;
  int workers_;
  std::vector<Trained> trained_;
  std::vector<Moving> moving_;
};

}  // namespace pando::runtime

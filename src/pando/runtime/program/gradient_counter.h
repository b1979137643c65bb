// Counts how many gradients lie beyond an edge, for automatic loss scaling: the gradients of every
// lane and micro-batch, as soon as backward has completed them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pando/optim/loss_scaling.h"
#include "pando/tensor/dtype.h"

namespace pando::runtime {

class BoundProgram;

// How many of `count` numbers of this type (f32, f16, bf16) have a magnitude above the edge. NaN
// lies beyond every edge. Raises no floating-point exceptions. Requires: the edge is above 0.
int64_t count_beyond(DType type, const std::byte* values, int64_t count, float edge);

// Workers may count at the same time, each at its own stages and lanes. Requires: the bound program
// outlives it.
class GradientCounter {
 public:
  // Counts only if the program computes in half precision.
  explicit GradientCounter(const BoundProgram& bound);

  // Called by one worker while none counts.
  void begin_update(float edge);
  // Called by the worker that completed the bucket, before its gradients are combined with others.
  void count(int bucket, int lane, int micro_batch);
  // The counts of all stages and lanes; called after all are done.
  GradientCounts total() const;

 private:
  struct alignas(64) Counts {
    int64_t below = 0;
    int64_t beyond = 0;
  };

  const BoundProgram& bound_;
  bool half_;
  float edge_ = 1;
  std::vector<Counts> counts_;  // [stage][lane]
};

}  // namespace pando::runtime

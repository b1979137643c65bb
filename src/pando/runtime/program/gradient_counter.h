// Counts how many gradients lie beyond an edge, for automatic loss scaling: those of every lane and
// micro-batch, as soon as backward has completed them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pando/optim/loss_scaling.h"
#include "pando/tensor/dtype.h"

namespace pando::runtime {

class BoundProgram;

// Of `count` numbers of this type (f32, f16, bf16), those with a magnitude above the edge, which is
// more than 0. What is not a number lies beyond every edge. Raises no flag of the processor.
int64_t count_beyond(DType type, const std::byte* values, int64_t count, float edge);

// Workers count at once, each at the stages and lanes that are its own.
// Requires: the bound program outlives it.
class GradientCounter {
 public:
  // Nothing is counted unless the program computes in half precision.
  explicit GradientCounter(const BoundProgram& bound);

  // By one worker while none counts.
  void begin_update(float edge);
  // By the worker that completed the bucket, before its gradients are put together with others.
  void count(int bucket, int lane, int micro_batch);
  // Of all stages and lanes, after all are done.
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

// The weight update: sums the gradients of all lanes in order unless that is done, regularises and
// applies the optimizer's rule, each worker to its own part of every variable.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "pando/optim/optimizer.h"
#include "pando/runtime/barrier.h"
#include "pando/runtime/instance.h"

namespace pando::runtime {

// Requires: the instance and the variables outlive it.
class Updater {
 public:
  Updater(const Instance& instance, VariableStore& variables, const Optimizer& optimizer,
          int workers);

  // Called by every worker after all lanes are done with the update's micro-batches. `weights`
  // holds a factor for each lane's gradients; empty: all 1. The barrier is used when the rule
  // wants norms; false when it was broken.
  bool update(int worker, const UpdateStep& step, const std::vector<float>& weights,
              Barrier& barrier);

 private:
  struct Trained {
    float* weights = nullptr;
    std::array<float*, 2> slots = {};
    std::vector<float*> gradients;  // one per lane
    int64_t elements = 0;
    bool scale_or_shift = false;
    size_t first_block = 0;  // into block_sums_
  };
  struct BlockSums {
    double weights = 0;
    double gradient = 0;
  };

  void add_trained(const Instance& instance, Variable& variable, const compiler::Operand& gradient);
  // A run of elements of a variable that fits in the first-level cache.
  struct Block {
    int64_t at = 0;
    int64_t count = 0;
  };
  static Block block_of(const Trained& trained, int64_t number);
  const float* total_gradient(const Trained& trained, Block block,
                              const std::vector<float>& weights, float* total) const;
  void sum_part(const Trained& trained, kernels::Part part, const std::vector<float>& weights);
  void apply_part(const Trained& trained, kernels::Part part, const UpdateStep& step,
                  const std::vector<float>& weights) const;
  UpdateNorms norms_of(const Trained& trained) const;

  std::shared_ptr<const UpdateRule> rule_;
  Regularization regularization_;
  int workers_;
  std::vector<Trained> trained_;
  std::vector<BlockSums> block_sums_;  // for rules that want norms: one per block of elements
};

}  // namespace pando::runtime

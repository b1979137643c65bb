// The weight update: sums the gradients of all lanes in order, unless the exchange has done that,
// regularises and applies the optimizer's rule, each worker to its own part of every variable.
// Computes in f32; what is stored in 16 bits is widened and rounded block by block.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "pando/optim/optimizer.h"
#include "pando/runtime/machine/barrier.h"
#include "pando/runtime/program/bound_program.h"
#include "pando/runtime/update/exchange.h"

namespace pando::runtime {

// Requires: the bound program, the variables and the exchange outlive it.
class Updater {
 public:
  // `exchange` has the gradients of all lanes of all instances; null: there is only this instance.
  Updater(const BoundProgram& bound, VariableStore& variables, const Optimizer& optimizer,
          int workers, const Exchange* exchange = nullptr);

  // Called by every worker after all lanes are done with the update's micro-batches. `weights`
  // holds a factor for each lane's gradients; empty: all 1. Uses the barrier if the rule needs
  // norms; false when the barrier was broken.
  // Workers take whole blocks, so sums over a variable do not depend on their number.
  bool update(int worker, const UpdateStep& step, const std::vector<float>& weights,
              Barrier& barrier);

 private:
  struct Trained {
    std::string name;
    Stored weights;
    std::vector<Stored> slots;
    std::vector<Stored> gradients;  // one per lane
    int64_t elements = 0;
    bool scale_or_shift = false;
    size_t first_block = 0;  // into block_sums_
    uint64_t key = 0;        // of stochastic rounding
    double rate_factor = 1;  // on the learning rate
  };
  // Buffers for opened blocks and the total gradient.
  struct Spaces {
    alignas(64) float weights[kStoredBlock];
    alignas(64) float lane[kStoredBlock];
    alignas(64) float total[kStoredBlock];
  };
  struct alignas(64) BlockSpace {
    float values[kStoredBlock];
  };
  // Working memory of one worker for every slot; made once, because updates do not allocate.
  struct alignas(64) SlotSpaces {
    std::vector<BlockSpace> blocks;
    std::vector<HalfRounding> roundings;
    UpdateSpan span;
  };
  // The factors of the lanes' gradients.
  struct LaneFactors {
    const std::vector<float>& weights;  // empty: all 1
    float unscale = 1;
    bool plain() const { return weights.empty() && unscale == 1; }
    float of(size_t lane) const { return (weights.empty() ? 1.0f : weights[lane]) * unscale; }
  };
  struct BlockSums {
    double weights = 0;
    double gradient = 0;
  };

  Trained& add_trained(Variable& variable);
  static Block block_of(const Trained& trained, int64_t number);
  const float* total_gradient(const Trained& trained, Block block, const LaneFactors& factors,
                              const float* weights, Spaces& spaces) const;
  void sum_part(const Trained& trained, kernels::Part part, const LaneFactors& factors);
  void apply_part(const Trained& trained, kernels::Part part, const UpdateStep& given,
                  const LaneFactors& factors);
  UpdateNorms norms_of(const Trained& trained) const;
  void stop_at_exceptions(const Trained& trained, const UpdateStep& step) const;
  HalfRounding rounding(const Trained& trained, const UpdateStep& step, uint64_t slot) const;

  Optimizer optimizer_;
  HalfOptions half_;
  bool watches_;  // for floating-point exceptions
  int instance_;  // number among several; -1: the only one
  bool in_f16_;   // for its error messages
  int workers_;
  std::vector<Trained> trained_;
  std::vector<SlotSpaces> slot_spaces_;  // one per worker
  std::vector<BlockSums> block_sums_;    // for rules that need norms: one per block of elements
};

}  // namespace pando::runtime

// The moving statistics of batch normalisation. They follow the statistics of the whole global
// batch, joined from those that all lanes of all instances found on their parts of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pando/kernels/part.h"
#include "pando/runtime/program/bound_program.h"

namespace pando::runtime {

// A block holds the moments of all statistics of a program: for each, per channel the mean, per
// channel the sum of squared deviations from it, then the number of values per channel.
// Requires: the bound program and the variables outlive it.
class MovingStatistics {
 public:
  MovingStatistics(const BoundProgram& bound, VariableStore& variables);

  size_t block_size() const { return block_size_; }  // in numbers
  // Joins the lanes' moments in order, for every statistic in the worker's part.
  void join_lanes(kernels::Part part, std::span<double> block) const;
  // Joins blocks in order and moves the statistics towards the result.
  void move(kernels::Part part, std::span<const double> blocks) const;

 private:
  struct Moving {
    float* value = nullptr;
    bool variance = false;
    float momentum = 0;
  };
  struct Moments {
    const ir::Value* value = nullptr;
    std::vector<const float*> lanes;
    int64_t channels = 0;
    size_t at = 0;  // in a block
    std::vector<Moving> moving;
  };
  Moments& moments_of(const BoundProgram& bound, const compiler::Operand& operand);
  void move(const Moments& moments, const Moving& moving, std::span<const double> blocks) const;

  std::vector<Moments> moments_;
  size_t block_size_ = 0;
};

}  // namespace pando::runtime

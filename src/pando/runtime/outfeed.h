// Brings losses, metrics and results out of the devices: sums over an execution, the values of
// single steps, and rows of results.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pando/runtime/program/bound_program.h"
#include "pando/runtime/totals.h"

namespace pando::runtime {

// Each lane has its own sums, so lanes do not wait for each other, and totals do not depend on
// which worker ran which lane.
class Outfeed {
 public:
  // Requires: the bound program outlives it.
  explicit Outfeed(const BoundProgram& bound);

  // The numbers per sample of each metric of the program, and of all of them.
  const std::vector<size_t>& metric_widths() const { return widths_; }
  size_t metric_sums() const { return sums_; }

  // Call before an execution. Keeps the values of the last `kept_steps` steps. Writes the real rows
  // of the results to `results`, one place for each, unless it is empty.
  void begin(size_t kept_steps, std::vector<std::byte*> results);

  // A finished step of a lane, whose values are in the lane's arena.
  struct LaneStep {
    int lane = 0;
    int micro_batch = 0;    // within its weight update
    int64_t step = 0;       // of the execution, per replica
    int64_t samples = 0;    // real ones
    int64_t first_row = 0;  // of the lane's samples in the results
  };
  // Called by the worker of the lane after its last forward section.
  void add(const LaneStep& at);

  // Whether the loss of some lane was not finite. Must not be called while workers add.
  bool not_finite() const;
  // The sums of each replica of this instance, over its lanes in their order.
  std::vector<Totals> replica_totals() const;
  // The totals of one replica in a kept step.
  Totals step_values(int64_t step, int replica) const;

 private:
  struct alignas(64) LaneTotals {
    Totals sums;
    bool not_finite = false;
  };
  // Where the values of a lane in a step are kept.
  size_t kept_at(int64_t step, int lane) const;
  // Number `column` of `width` per sample, summed over the samples.
  double sum_of(const compiler::Operand& operand, const LaneStep& at, size_t column = 0,
                size_t width = 1) const;

  const BoundProgram& bound_;
  std::vector<compiler::Operand> losses_;
  std::vector<compiler::Operand> metrics_;
  std::vector<compiler::Operand> results_;
  std::vector<size_t> widths_;  // of metrics_
  size_t sums_ = 0;             // of all metrics
  std::vector<size_t> result_row_bytes_;
  std::vector<std::byte*> results_to_;
  std::vector<LaneTotals> totals_;
  std::vector<double> steps_;  // [kept step][lane][samples, loss, sums of metrics]
  size_t kept_ = 0;
};

}  // namespace pando::runtime

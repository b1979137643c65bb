// Times the candidates of a layer against each other, as training would run them: all workers at
// once, each on its own slice, or on its part of one slice.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/compiler/kernel_choices.h"
#include "pando/runtime/machine/worker_team.h"

namespace pando::runtime {

struct TimerOptions {
  // The candidates take turns; the fastest round of each counts. Long calls have fewer rounds.
  int rounds = 4;
  int fewest_rounds = 1;
  double round_seconds = 0.003;  // at least one call
  int parts = 0;                 // into which a call is cut; 0: workers have slices of their own
  // Calls of a worker between two weight updates, for each of which the filter is packed once.
  double calls_per_update = 1;
  // The candidate that the others must beat. It has all rounds, however slow its first calls are.
  std::string table;
};

// Returns the times of the options, in their order, with unknown errors. An option that takes much
// longer than another one is timed twice. Requires: f32 or 16-bit inputs. Throws OverMemoryLimit if
// the operands do not fit.
std::vector<compiler::KernelTime> time_kernels(const ir::Node& node,
                                               const std::vector<compiler::KernelOption>& options,
                                               WorkerTeam& team, const TimerOptions& how);

}  // namespace pando::runtime

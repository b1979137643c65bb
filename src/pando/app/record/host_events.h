// When training returns to the host: after how many weight updates it logs, writes a checkpoint and
// ends an execution.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pando/options/fraction.h"

namespace pando::app {

// The divisor of `a` nearest to `b`. Of two equally near ones that whose pair i * (a / i) = a has
// the smaller i, and within a pair i: the divisors of 12 are tried in the order 1 12 2 6 3 4.
// Requires: a >= 1, b finite.
int64_t closest_divisor(int64_t a, double b);

// --ckpts-per-epoch and --first-ckpt-epoch. The first checkpoint is written at that epoch, or one
// period into the run when it is 0.
struct CheckpointRequest {
  Fraction per_epoch = Fraction(1);  // 0: none
  Fraction first_epoch;
};

struct HostEventRequest {
  int64_t updates_per_epoch = 1;
  int64_t epochs = 1;
  Fraction logs_per_epoch = Fraction(1);  // 0: none
  std::optional<CheckpointRequest> checkpoint;
};

// All numbers count weight updates from the start of the run, so that epoch numbers stay true
// epochs: an execution that is longer than an epoch spans several.
struct HostEvents {
  int64_t total = 0;
  int64_t log_period = 0;         // 0: no log before the end
  int64_t checkpoint_period = 0;  // 0: no checkpoint
  int64_t first_checkpoint = 0;
  int64_t execution = 0;  // the longest one; 0 only when the run has no update
  std::vector<std::string> warnings;

  // Whether the event falls due when `done` updates are done.
  bool logs_at(int64_t done) const;
  bool checkpoints_at(int64_t done) const;
  // Whether a log is due after `done` updates when the last one was after `logged`: executions may
  // end elsewhere than log events, and the end of the run has what remains.
  bool logs_since(int64_t logged, int64_t done) const;

  // The length of the execution after `done` updates: `execution`, or less when a checkpoint of an
  // odd --first-ckpt-epoch or the end of the run comes first. 0 at the end.
  int64_t next_execution(int64_t done) const;
};

// A frequency that weight updates cannot keep becomes the closest possible one, with a warning.
// Throws UsageError that names the flag for a negative frequency, for a run that is too long to
// count, and for less than one log per epoch when the logs do not divide the epochs.
HostEvents plan_host_events(const HostEventRequest& request);

}  // namespace pando::app

// Plans when training returns to the host: after how many weight updates it logs, writes a
// checkpoint and ends an execution.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pando/options/fraction.h"

namespace pando::app {

// The divisor of `a` nearest to `b`. If two are equally near, the one that comes first in the order
// 1, a, 2, a/2, 3, a/3, ... (for 12: 1 12 2 6 3 4) is chosen.
// Requires: a >= 1, b finite.
int64_t closest_divisor(int64_t a, double b);

// --ckpts-per-epoch and --first-ckpt-epoch. The first checkpoint is written at `first_epoch`, or
// after one period if that is 0.
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

// All numbers count weight updates since the start of the run. An execution may span several
// epochs; epoch numbers still count epochs of the data.
struct HostEvents {
  int64_t total = 0;
  int64_t log_period = 0;         // 0: no log before the end
  int64_t checkpoint_period = 0;  // 0: no checkpoint
  int64_t first_checkpoint = 0;
  int64_t execution = 0;  // the longest execution; 0 only if the run has no updates
  std::vector<std::string> warnings;

  // Whether a checkpoint is due after exactly `done` updates.
  bool checkpoints_at(int64_t done) const;
  // Whether a log is due after `done` updates if the last one was after `logged`. Executions may
  // end between log events; the end of the run logs the rest.
  bool logs_since(int64_t logged, int64_t done) const;

  // The length of the execution that begins after `done` updates: `execution`, or less if a log, a
  // checkpoint (--first-ckpt-epoch may shift it) or the end of the run comes first. 0 at the end.
  int64_t next_execution(int64_t done) const;
};

// A frequency that does not divide the weight updates becomes the closest possible one, with a
// warning. Throws UsageError that names the flag for a negative frequency, for a run with too many
// updates to count, and for less than one log per epoch if the number of epochs is not a multiple
// of the epochs between logs.
HostEvents plan_host_events(const HostEventRequest& request);

}  // namespace pando::app

// Summarizes the validated checkpoints of a run: the best one, the first one that reached a target,
// and the figure that hyper-parameter searches maximise.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>

#include "pando/app/record/mlperf_log.h"
#include "pando/zoo/task.h"

namespace pando::app {

struct ValidatedCheckpoint {
  double epoch = 0;
  double loss = 0;
  double figure = 0;  // the metric of the task
};

// The lines of a validation in the log of a benchmark.
void tell_validation(MlperfLog& log, const ValidatedCheckpoint& found, const Task& task);

// Seconds as "1:02:03".
std::string duration_text(double seconds);

// The checkpoint with the best figure; of equal ones the first. Requires: `checkpoints` is not
// empty.
const ValidatedCheckpoint& best_of(std::span<const ValidatedCheckpoint> checkpoints,
                                   const Task& task);

// The lowest epoch of a checkpoint whose figure reaches `target`.
std::optional<double> epoch_to_target(std::span<const ValidatedCheckpoint> checkpoints,
                                      double target, const Task& task);

// exp(-0.5 * min(accuracy - target, 0)^2 / 0.02^2) / epoch of the last checkpoint: near 1 / epoch
// if the target is reached, near 0 if it is missed by several percent. Returns nothing without a
// checkpoint or if the last one was written before training.
std::optional<double> optimization_metric(std::span<const ValidatedCheckpoint> checkpoints,
                                          double target);

}  // namespace pando::app

// What the validated checkpoints of a run say together: the best one, the first that reached a
// target, the figure that searches for hyper-parameters maximise.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>

#include "pando/app/record/mlperf_log.h"

namespace pando::app {

struct ValidatedCheckpoint {
  double epoch = 0;
  double loss = 0;
  double accuracy = 0;  // a fraction
};

// The lines of a validation in the log of a benchmark.
void tell_validation(MlperfLog& log, const ValidatedCheckpoint& found);

// Seconds as "1:02:03".
std::string duration_text(double seconds);

// The one with the highest accuracy, the earliest of equal ones. Requires: there is one.
const ValidatedCheckpoint& best_of(std::span<const ValidatedCheckpoint> checkpoints);

// The epoch of the first checkpoint whose accuracy is `target` or more.
std::optional<double> epoch_to_target(std::span<const ValidatedCheckpoint> checkpoints,
                                      double target);

// exp(-0.5 * min(accuracy - target, 0)^2 / 0.02^2) / epoch of the last checkpoint: near 1 / epoch
// once the target is reached, near 0 when it is missed by several percent. Nothing without a
// checkpoint and before any training.
std::optional<double> optimization_metric(std::span<const ValidatedCheckpoint> checkpoints,
                                          double target);

}  // namespace pando::app

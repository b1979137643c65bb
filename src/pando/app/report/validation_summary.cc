// SPDX-License-Identifier: MIT
#include "pando/app/report/validation_summary.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/core.h>

#include "pando/base/error.h"

namespace pando::app {

void tell_validation(MlperfLog& log, const ValidatedCheckpoint& found, const Task& task) {
  log.start("eval", {{"epoch_num", found.epoch}});
  log.event("eval_" + task.metric, found.figure, {{"epoch_num", found.epoch}});
  log.stop("eval", {{"epoch_num", found.epoch}});
}

std::string duration_text(double seconds) {
  const int64_t whole = std::llround(seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole % 3600 / 60, whole % 60);
}

const ValidatedCheckpoint& best_of(std::span<const ValidatedCheckpoint> checkpoints,
                                   const Task& task) {
  PANDO_CHECK(!checkpoints.empty());
  const ValidatedCheckpoint* best = &checkpoints.front();
  for (const ValidatedCheckpoint& one : checkpoints) {
    if (task.is_better(one.figure, best->figure)) best = &one;
  }
  return *best;
}

std::optional<double> epoch_to_target(std::span<const ValidatedCheckpoint> checkpoints,
                                      double target, const Task& task) {
  std::optional<double> first;
  for (const ValidatedCheckpoint& one : checkpoints) {
    if (task.reaches(one.figure, target)) first = std::min(one.epoch, first.value_or(one.epoch));
  }
  return first;
}

std::optional<double> optimization_metric(std::span<const ValidatedCheckpoint> checkpoints,
                                          double target) {
  constexpr double kWidth = 0.02;
  if (checkpoints.empty() || !(checkpoints.back().epoch > 0)) return std::nullopt;
  const double missing = std::min(checkpoints.back().figure - target, 0.0);
  return std::exp(-0.5 * missing * missing / (kWidth * kWidth)) / checkpoints.back().epoch;
}

}  // namespace pando::app

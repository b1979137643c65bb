// SPDX-License-Identifier: MIT
#include "pando/train/epoch_plan.h"

#include <algorithm>

namespace pando::train {

EpochPlan::EpochPlan(const EpochShape& shape) {
  const int64_t per_update = shape.replicas * shape.accumulation;  // elements
  const int64_t global_batch = per_update * shape.micro_batch;
  int64_t left = shape.samples;
  if (shape.whole_updates) {
    const int64_t fitting = shape.updates > 0 ? shape.updates : shape.samples / global_batch;
    left = fitting * global_batch;
  }
  while (left > 0) {
    const int64_t samples = std::min(left, global_batch);
    updates_.push_back({(samples + shape.micro_batch - 1) / shape.micro_batch, samples});
    elements_ += updates_.back().elements;
    samples_ += samples;
    left -= samples;
  }
  constexpr int64_t kExecutionsPerEpoch = 20;
  const auto updates = static_cast<int64_t>(updates_.size());
  // An update is never cut: the results do not depend on the length of an execution.
  updates_per_execution_ =
      shape.steps_per_execution > 0
          ? (shape.steps_per_execution + shape.accumulation - 1) / shape.accumulation
          : std::max<int64_t>(1, updates / kExecutionsPerEpoch);
}

std::span<const runtime::UpdatePlan> EpochPlan::execution(int64_t first_update) const {
  return execution(first_update, updates_per_execution_ - first_update % updates_per_execution_);
}

std::span<const runtime::UpdatePlan> EpochPlan::execution(int64_t first_update,
                                                          int64_t most) const {
  const auto all = static_cast<int64_t>(updates_.size());
  const int64_t count = std::clamp<int64_t>(all - first_update, 0, most);
  if (count == 0) return {};
  return {&updates_[static_cast<size_t>(first_update)], static_cast<size_t>(count)};
}

}  // namespace pando::train

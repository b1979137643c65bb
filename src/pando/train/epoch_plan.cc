// SPDX-License-Identifier: MIT
#include "pando/train/epoch_plan.h"

#include <algorithm>

#include "pando/base/checked.h"

namespace pando::train {

namespace {

constexpr int64_t kExecutionsPerEpoch = 20;
constexpr int64_t kMostUpdates = int64_t{1} << 20;  // of an execution

}  // namespace

EpochPlan::EpochPlan(const EpochShape& shape) {
  const int64_t global_batch =
      checked_product("the global batch", {shape.micro_batch, shape.replicas, shape.accumulation});
  samples_ = shape.samples;
  if (shape.whole_updates) {
    const int64_t fitting = shape.updates > 0 ? shape.updates : shape.samples / global_batch;
    samples_ = checked_product("the samples of an epoch", {fitting, global_batch});
  }
  const int64_t whole = samples_ / global_batch;
  const int64_t rest = samples_ % global_batch;
  const auto elements_of = [&](int64_t samples) {
    return samples == 0 ? 0 : (samples - 1) / shape.micro_batch + 1;
  };
  updates_ = whole + (rest > 0 ? 1 : 0);
  elements_ = whole * elements_of(global_batch) + elements_of(rest);
  kept_.assign(static_cast<size_t>(std::min(whole, kMostUpdates)),
               {elements_of(global_batch), global_batch});
  if (rest > 0) kept_.push_back({elements_of(rest), rest});
  // An update is never cut: the results do not depend on the length of an execution.
  updates_per_execution_ = shape.steps_per_execution > 0
                               ? (shape.steps_per_execution - 1) / shape.accumulation + 1
                               : std::max<int64_t>(1, updates_ / kExecutionsPerEpoch);
}

std::span<const runtime::UpdatePlan> EpochPlan::execution(int64_t first_update) const {
  return execution(first_update, updates_per_execution_ - first_update % updates_per_execution_);
}

std::span<const runtime::UpdatePlan> EpochPlan::execution(int64_t first_update,
                                                          int64_t most) const {
  const int64_t left = updates_ - first_update;
  const int64_t count = std::clamp<int64_t>(left, 0, std::min(most, kMostUpdates));
  if (count == 0) return {};
  const std::span<const runtime::UpdatePlan> kept(kept_);
  // Only the last update may be unlike the others.
  const auto from = left == count ? std::ssize(kept) - count : 0;
  return kept.subspan(static_cast<size_t>(from), static_cast<size_t>(count));
}

}  // namespace pando::train

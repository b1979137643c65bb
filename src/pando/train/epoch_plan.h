// The division of an epoch into weight updates and executions.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "pando/runtime/executor.h"

namespace pando::train {

struct EpochShape {
  int64_t samples = 0;
  int64_t micro_batch = 1;
  int64_t replicas = 1;
  int64_t accumulation = 1;         // micro-batches of a replica per weight update
  bool whole_updates = false;       // leaves out samples that do not fill an update
  int64_t updates = 0;              // with whole_updates; 0: as many as the samples fill
  int64_t steps_per_execution = 0;  // steps of a replica; 0: a twentieth of the epoch
};

// The weight updates of one epoch, every sample in one of them. All are alike, except that the last
// may be shorter.
class EpochPlan {
 public:
  // Throws InvalidArgument if a product of these numbers is too large.
  explicit EpochPlan(const EpochShape& shape);

  int64_t updates() const { return updates_; }
  // The update that all others are like, except the last; zeros if there is none.
  runtime::UpdatePlan first() const {
    return kept_.empty() ? runtime::UpdatePlan{0, 0} : kept_.front();
  }
  int64_t elements() const { return elements_; }  // the elements of the infeed
  int64_t samples() const { return samples_; }
  int64_t updates_per_execution() const { return updates_per_execution_; }
  // The execution that begins with an update; empty at the end. If the update is within an
  // execution, its remaining part.
  std::span<const runtime::UpdatePlan> execution(int64_t first_update) const;
  // The execution of at most `most` updates that begins with an update. It is shorter if `most` is
  // too large for one execution.
  std::span<const runtime::UpdatePlan> execution(int64_t first_update, int64_t most) const;

 private:
  std::vector<runtime::UpdatePlan> kept_;  // the last updates, as many as an execution may have
  int64_t updates_ = 0;
  int64_t elements_ = 0;
  int64_t samples_ = 0;
  int64_t updates_per_execution_ = 1;
};

}  // namespace pando::train

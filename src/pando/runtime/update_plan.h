// The data of weight updates, and how their micro-batches are divided over replicas.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "pando/runtime/program/placement.h"

namespace pando::runtime {

// The data of one weight update: micro-batches, all full except the last. Element m * R + r is
// micro-batch m of replica r, where R is the number of replicas of all instances; missing elements
// at the end are padding. Without weight updates it is a run of steps after which the host may
// stop.
struct UpdatePlan {
  int64_t elements = 1;
  int64_t samples = 1;  // real ones
};

// Divides the elements of weight updates over the replicas of all instances.
class UpdateDivision {
 public:
  UpdateDivision() = default;
  // `micro_batch` is the number of samples of a full element.
  UpdateDivision(const Placement& placement, int64_t micro_batch)
      : micro_batch_(micro_batch),
        replicas_(placement.replicas),
        first_replica_(placement.first_replica()),
        total_replicas_(placement.total_replicas()) {}

  int64_t micro_batch() const { return micro_batch_; }
  // Micro-batches of each replica, padding included.
  int steps_of(const UpdatePlan& plan) const {
    return static_cast<int>((plan.elements + total_replicas_ - 1) / total_replicas_);
  }
  // Real samples of an element; 0 after the last one.
  int64_t valid_of(const UpdatePlan& plan, int64_t element) const {
    return std::clamp<int64_t>(plan.samples - element * micro_batch_, 0, micro_batch_);
  }
  // The element of an update that a replica of this instance takes in a step.
  int64_t element_of(int step, int replica) const {
    return step * total_replicas_ + first_replica_ + replica;
  }
  // How many elements of an update the replicas of this instance take.
  int64_t own_elements(const UpdatePlan& plan) const {
    const int64_t whole = plan.elements / total_replicas_;
    const int64_t rest = plan.elements % total_replicas_ - first_replica_;
    return whole * replicas_ + std::clamp<int64_t>(rest, 0, replicas_);
  }
  // The place of the element that a replica takes in a step, among the elements of this instance.
  int64_t own_place_of(int step, int replica) const { return step * replicas_ + replica; }

 private:
  int64_t micro_batch_ = 1;
  int64_t replicas_ = 1;  // of this instance
  int64_t first_replica_ = 0;
  int64_t total_replicas_ = 1;
};

}  // namespace pando::runtime

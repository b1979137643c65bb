// A model and machines with round numbers, for tests of the search and of its report.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/plan/search.h"

namespace pando::plan {

// Machines with 4 cores. A micro-batch takes 3 s on one core and divides evenly over cores and up
// to two stages; the gradients are 4 MB and complete in four parts.
class FakeCosts : public Costs {
 public:
  int cores() const override { return 4; }
  std::optional<ReplicaCost> replica(int devices, int stages) override {
    if (stages > 2) return std::nullopt;
    const int workers = cores() / devices;
    ReplicaCost cost{.workers = workers,
                     .packing = 0.01,
                     .update = 0.02,
                     .devices = devices,
                     .lanes_of_a_replica = workers};
    const double share = 1.0 / (workers * stages);
    for (int stage = 0; stage < stages; ++stage) {
      Stage part{.seconds = {share, 2 * share}};
      const int calls = 4 / stages;
      for (int call = 1; call <= calls; ++call) {
        part.gradients.push_back({1e6, 2 * share * (calls - call) / calls});
      }
      cost.stages.push_back(part);
    }
    if (stages == 2) cost.splits = {"middle"};
    return cost;
  }
  int64_t device_bytes(int, int stages, int64_t micro_batches) override {
    return 8'000'000 / stages + 1000 * micro_batches;
  }
  int64_t shared_bytes() const override { return 16'000'000; }
  int64_t samples() const override { return 1'000'000; }
  double moment_bytes() const override { return 100; }
  double copy_rate() const override { return 4e9; }
  double sum_rate() const override { return 2e9; }
};

}  // namespace pando::plan

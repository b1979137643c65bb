// Brings micro-batches from the infeed into the arenas of the replicas' first devices.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "pando/profile/trace.h"
#include "pando/runtime/infeed.h"
#include "pando/runtime/machine/progress.h"
#include "pando/runtime/program/bound_program.h"
#include "pando/runtime/update_plan.h"
#include "pando/runtime/worker_trace.h"

namespace pando::runtime {

// One micro-batch of one replica, as all its stages see it.
struct FedBatch {
  int64_t valid = 0;
  int64_t first_sample = 0;
};

// A micro-batch that a replica begins.
struct FeedTurn {
  int replica = 0;
  int micro_batch = 0;  // within its weight update
  const UpdatePlan* update = nullptr;
  int32_t steps_before = 0;  // steps of the replica in the execution's earlier updates
  int64_t fed_before = 0;    // elements of this instance in these updates
};

// For each micro-batch one worker of a replica's first device calls publish() and the others
// await(); then each copies its own lanes and calls copied(). Workers of different replicas do not
// wait for each other. The thread that runs executions calls the other methods; any thread may call
// wake().
class Feeder {
 public:
  // Requires: the bound program and `failed` outlive it. `failed` is set before wake() is called.
  Feeder(const BoundProgram& bound, int spins, const std::atomic<bool>& failed);

  // Call before an execution whose updates have up to `most_steps` steps. `trace` counts the
  // samples; it may be null.
  void begin(InfeedQueue& infeed, const UpdateDivision& division, size_t most_steps,
             profile::Trace* trace);
  // Call after the execution: gives back what was taken from the infeed.
  void end();
  // Ends all waits.
  void wake();

  // Waits for the next `elements` elements of this instance, and returns their real samples. Call
  // before the update that has them, whose earlier updates took `fed_before` elements.
  std::vector<int64_t> samples_ahead(int64_t fed_before, int64_t elements) const;

  // Waits until the device's workers have copied the previous micro-batch, and takes the next one
  // from the infeed; beyond the update's elements it is padding. False when the execution failed or
  // the infeed was closed.
  bool publish(const FeedTurn& turn, int workers, WorkerTrace& trace);
  // Waits for publish(). False when the execution failed.
  bool await(const FeedTurn& turn, WorkerTrace& trace);
  // Copies the samples of a lane into its arena.
  void copy(int lane, int micro_batch) const;
  void copied(int replica) { ports_[static_cast<size_t>(replica)].copied.add(1); }

  // What was published for a micro-batch of the weight update in progress.
  const FedBatch& fed(int replica, int micro_batch) const {
    return fed_[static_cast<size_t>(replica)][static_cast<size_t>(micro_batch)];
  }

 private:
  struct alignas(64) Port {
    const Batch* batch = nullptr;
    int64_t number = -1;  // of the element; -1: none is taken
    Progress published;
    Progress copied;
  };

  const BoundProgram& bound_;
  const int spins_;
  const std::atomic<bool>& failed_;
  InfeedQueue* infeed_ = nullptr;
  UpdateDivision division_;
  profile::Trace* trace_ = nullptr;
  int64_t first_element_ = 0;               // of the execution
  std::vector<Port> ports_;                 // [replica]
  std::vector<std::vector<FedBatch>> fed_;  // [replica][micro-batch of the update]
};

}  // namespace pando::runtime

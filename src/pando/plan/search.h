// Tries every way to spread training over instances, replicas, stages and buckets, and recommends
// one.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pando/plan/predict.h"

namespace pando::plan {

inline constexpr int kMostInstances = 4096;

// One replica of the model on a host all of whose devices are busy.
struct ReplicaCost {
  std::vector<Stage> stages;
  std::vector<std::string> splits;  // the layers that begin a stage
  int workers = 1;                  // of a device
  // Seconds of one instance that has the host and all its devices to itself.
  double packing = 0;
  double update = 0;
  int devices = 1;             // of the host, each with a replica whose gradients that update sums
  int lanes_of_a_replica = 1;  // slices, each with gradients of its own
  int lanes() const { return devices * lanes_of_a_replica; }
};

// What the search knows of the model and of the hosts, which are all alike.
class Costs {
 public:
  Costs() = default;
  virtual ~Costs() = default;
  Costs(const Costs&) = delete;
  Costs& operator=(const Costs&) = delete;

  virtual int cores() const = 0;  // of a host
  // With so many devices in the host, at most one per core; nothing when the model has no so many
  // stages.
  virtual std::optional<ReplicaCost> replica(int devices, int stages) = 0;
  // What the fullest device of a replica holds, in bytes.
  virtual int64_t device_bytes(int devices, int stages, int64_t micro_batches) = 0;
  // What the devices of an instance share: weights, the optimizer's slots and buffers.
  virtual int64_t shared_bytes() const = 0;
  virtual int64_t samples() const = 0;      // of the data set; known once a replica is
  virtual double moment_bytes() const = 0;  // of batch normalisation, sent once an update
  // Bytes per second of one worker while all are busy.
  virtual double copy_rate() const = 0;
  virtual double sum_rate() const = 0;
};

struct PlanRequest {
  int instances = 1;  // at most
  int instances_per_host = 1;
  Link link;
  int64_t micro_batch_size = 1;
  std::optional<int64_t> global_batch_size;  // then accumulation follows from it
  int64_t accumulation = 1;
  std::vector<int64_t> bucket_bytes;  // empty: from 256 KiB to all gradients in one
  double wire_share = 1;              // of the bytes of gradients that travel
  PipelineSchedule schedule = PipelineSchedule::grouped;
  int64_t memory_per_device = 0;  // what needs more is left out; 0: no limit
};

struct Combination {
  int instances = 1;
  int replicas = 1;  // of an instance
  int stages = 1;    // of a replica, each on a device of its own
  int64_t bucket_bytes = 0;
  std::vector<std::string> splits;

  int workers = 1;         // of a device
  double cores_share = 1;  // of a core that a worker has: below 1 when workers share cores
  int64_t accumulation = 1;
  int64_t global_batch_size = 1;
  Prediction prediction;
  double samples_per_second = 0;
  double efficiency = 1;  // samples per second against so many times the fastest single instance
  int64_t device_bytes = 0;
};

struct Plan {
  std::vector<Combination> combinations;  // the fastest first
  size_t recommended = 0;                 // index into them
  std::string reason;
  int64_t too_large = 0;    // left out: a device needs more memory than it has
  int64_t indivisible = 0;  // left out: the global batch cannot be divided so
  int64_t too_few = 0;      // left out: the data set has not enough samples for a global batch
};

// 1, 2, 4, .., and `most` itself.
std::vector<int> counts_up_to(int most);

// Throws InvalidArgument when nothing is left.
Plan make_plan(Costs& costs, const PlanRequest& request);

// The fastest of each number of instances, by that number.
std::vector<Combination> best_of_each(const Plan& plan);

}  // namespace pando::plan

// Tries all ways to spread training over instances, replicas, stages and buckets, and recommends
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

// The cost of one replica of the model, on a host whose devices are all busy.
struct ReplicaCost {
  std::vector<Stage> stages;
  std::vector<std::string> splits;  // the layers that start a stage
  int workers = 1;                  // per device
  // Seconds of one instance that has the host and all its devices to itself.
  double packing = 0;
  double update = 0;
  int devices = 1;             // of the host, one replica each; the update sums all gradients
  int lanes_of_a_replica = 1;  // slices, each with gradients of its own
  int lanes() const { return devices * lanes_of_a_replica; }
};

// What the search knows about the model and the hosts. All hosts are alike.
class Costs {
 public:
  Costs() = default;
  virtual ~Costs() = default;
  Costs(const Costs&) = delete;
  Costs& operator=(const Costs&) = delete;

  virtual int cores() const = 0;  // of a host
  // The cost with `devices` devices on the host, at most one per core. Returns nothing if the model
  // cannot have that many stages.
  virtual std::optional<ReplicaCost> replica(int devices, int stages) = 0;
  // Memory of the fullest device of a replica, in bytes.
  virtual int64_t device_bytes(int devices, int stages, int64_t micro_batches) = 0;
  // Memory that the devices of an instance share: weights, the optimizer's slots and buffers.
  virtual int64_t shared_bytes() const = 0;
  virtual int64_t samples() const = 0;  // of the data set; known after the first call of replica()
  virtual double moment_bytes() const = 0;  // of batch normalisation, sent once per update
  // Bytes per second of one worker while all are busy.
  virtual double copy_rate() const = 0;
  virtual double sum_rate() const = 0;
};

struct PlanRequest {
  int instances = 1;  // maximum
  int instances_per_host = 1;
  Link link;
  int64_t micro_batch_size = 1;
  std::optional<int64_t> global_batch_size;  // if set, decides the accumulation
  int64_t accumulation = 1;
  std::vector<int64_t> bucket_bytes;  // empty: from 256 KiB to all gradients in one
  double wire_share = 1;              // factor on the bytes of gradients that are sent
  PipelineSchedule schedule = PipelineSchedule::grouped;
  int64_t memory_per_device = 0;  // combinations that need more are left out; 0: no limit
};

struct Combination {
  int instances = 1;
  int replicas = 1;  // per instance
  int stages = 1;    // per replica, each on its own device
  int64_t bucket_bytes = 0;
  std::vector<std::string> splits;

  int workers = 1;         // per device
  double cores_share = 1;  // share of a core per worker; below 1 if workers share cores
  int64_t accumulation = 1;
  int64_t global_batch_size = 1;
  Prediction prediction;
  double samples_per_second = 0;
  double efficiency = 1;  // samples per second / (instances * rate of the fastest single one)
  int64_t device_bytes = 0;
};

struct Plan {
  std::vector<Combination> combinations;  // the fastest first
  size_t recommended = 0;                 // index into `combinations`
  std::string reason;
  int64_t too_large = 0;    // left out: a device needs more memory than it has
  int64_t indivisible = 0;  // left out: the global batch does not divide evenly
  int64_t too_few = 0;      // left out: the data set is smaller than a global batch
};

// The powers of two below `most`, and `most` itself.
std::vector<int> counts_up_to(int most);

// Throws InvalidArgument if no combination is possible.
Plan make_plan(Costs& costs, const PlanRequest& request);

// The fastest combination for each number of instances, in the order of that number.
std::vector<Combination> best_of_each(const Plan& plan);

}  // namespace pando::plan

// How a program is spread over devices: replicas side by side, equally many on every instance of a
// job, and the stages of each replica over its own devices.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "pando/comm/communicator.h"
#include "pando/comm/wire.h"
#include "pando/runtime/program/schedule.h"

namespace pando::runtime {

// How the gradients of the micro-batches of one weight update are combined.
// mean: the mean over all real samples of the global batch, however it is divided.
// sum: the means of the micro-batches, added up over accumulation and replicas.
// running_mean: the mean of the micro-batches' means, updated after each of them, so that the
//   accumulator never grows; then the mean over replicas.
enum class GradientReduction { mean, sum, running_mean };

struct Placement {
  int replicas = 1;                                  // of this instance
  std::shared_ptr<comm::Communicator> communicator;  // to the other instances; null: there are none
  comm::WireFormat wire = comm::WireFormat::f32;     // of gradients between instances
  // Within a replica; empty: stage i on device i of the replica.
  std::vector<int> device_of_stage;
  PipelineSchedule schedule = PipelineSchedule::grouped;
  int micro_batches = 1;  // per replica and weight update: the gradient accumulation count
  GradientReduction reduction = GradientReduction::mean;
  // After every kernel, workers check for an invalid operation, a division by zero or an overflow,
  // and stop with a FloatingPointError.
  bool stop_at_fp_exceptions = false;
  int statistics_group = 1;  // replicas that compute batch statistics together

  // Micro-batches may hold fewer real samples than planned, because rows of weight 0 are padding.
  // Workers then count the real samples of a weight update before they begin it.
  bool samples_vary = false;

  // For each feed of the program: the field of a batch that it gets, -1 for zeros. Empty: in order.
  std::vector<int> feed_fields;

  int instances() const { return communicator == nullptr ? 1 : communicator->size(); }
  int total_replicas() const { return replicas * instances(); }
  // The number of this instance; -1: it is the only one.
  int instance() const { return instances() == 1 ? -1 : communicator->rank(); }
  // The number of this instance's first replica among all.
  int first_replica() const {
    return communicator == nullptr ? 0 : communicator->rank() * replicas;
  }

  // Whether replicas of several instances compute batch statistics together.
  bool gathers_instances() const { return statistics_group > replicas; }

  int field_of(size_t feed) const {
    return feed_fields.empty() ? static_cast<int>(feed) : feed_fields[feed];
  }
  int device_of(int stage) const {
    return device_of_stage.empty() ? stage : device_of_stage[static_cast<size_t>(stage)];
  }
  int devices_per_replica(int stages) const {
    if (device_of_stage.empty()) return stages;
    return *std::max_element(device_of_stage.begin(), device_of_stage.end()) + 1;
  }
};

}  // namespace pando::runtime

// The flags of `pando train` that spread a model over devices: replicas, accumulation, pipeline,
// and the cores and memory of a device.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pando/app/flags/batch_configuration.h"
#include "pando/app/flags/core_flags.h"
#include "pando/comm/wire.h"
#include "pando/options/byte_size.h"
#include "pando/options/options.h"
#include "pando/train/device_strategy.h"
#include "pando/train/parallel_options.h"

namespace pando::app {

// automatic: chosen by the pipeline schedule.
enum class RecomputationFlag { off, automatic, then_backward, interleaved };

struct DeviceFlags : CoreFlags {
  int num_replicas = 1;  // of the whole job
  int instances = 1;     // of the job; not a flag. All have the same number of replicas
  // At most one of the two may be given.
  std::optional<int64_t> gradient_accumulation_count;
  std::optional<int64_t> global_batch_size;
  GradientReduction gradient_reduction = GradientReduction::mean;
  int dbn_replica_group_size = 1;
  comm::WireFormat exchange_format = comm::WireFormat::f32;

  std::vector<std::string> pipeline_splits;  // layers that start a stage, or the one word "auto"
  int pipeline_stages = 0;  // with "auto"; 0: the number of entries of --device-mapping, else 2
  std::vector<int> device_mapping;
  PipelineSchedule pipeline_schedule = PipelineSchedule::grouped;
  RecomputationFlag recomputation = RecomputationFlag::off;
  bool pipeline_validation_model = false;

  ByteSize memory_per_device;
  ByteSize memory_limit;  // of this process; 0: those of the system

  bool splits_are_measured() const;  // --pipeline-splits auto
  int stages() const;                // of a replica
  int devices_per_replica() const;
  int local_replicas() const { return num_replicas / instances; }
  int devices() const { return local_replicas() * devices_per_replica(); }  // of this instance

  BatchConfiguration batch(int64_t micro_batch_size) const;
  PipeliningOptions pipelining(int accumulation) const;
  // `threads` is the number of cores of a run on one device; 0: all.
  DeviceStrategyOptions strategy(int threads) const;
  // The number of workers of the first device. A micro-batch is cut into as many slices by default.
  int cores_of_a_device(int threads) const;
};

void add_device_flags(OptionTable& table, DeviceFlags& flags);

// Checks combinations of flags; throws UsageError that names the flags.
void validate(const DeviceFlags& flags, int threads);

}  // namespace pando::app

// How an estimator runs: where its files are, how often it writes and tells, and the device part:
// loops, replicas, shards. The same configuration runs on one core or many.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/optim/loss_scaling.h"
#include "pando/tensor/precision.h"
#include "pando/train/device_strategy.h"

namespace pando {

struct DeviceRunConfig {
  // Steps of each replica in one execution, without a return to the host. One step is one
  // micro-batch on each replica.
  int64_t iterations_per_loop = 1;
  int num_replicas = 1;  // of this instance
  int num_shards = 1;    // devices of a replica
  // What the machine is divided into: one entry per set of devices that an estimator may take. Must
  // be given for more than one replica or shard, with num_replicas * num_shards devices. Empty: all
  // cores are one device.
  std::vector<DeviceStrategyOptions> devices = {};
  int ordinal = 0;            // of the set to take
  bool autosharding = false;  // cuts the network into num_shards parts that need even memory
  int prefetch_depth = 3;     // micro-batches per replica that are made ready ahead
  int data_workers = 0;       // threads that make them; 0: one per core that no device uses
  Precision precision = {};
  LossScaling loss_scaling = {};
  // train() and evaluate() write reports of compilation and execution to model_dir.
  bool profiling = false;
  bool compile_summary = false;  // the report of compilation as a text of the summaries
};

struct RunConfig {
  DeviceRunConfig device = {};
  std::string model_dir;     // see EstimatorOptions::model_dir
  uint64_t random_seed = 0;  // of initial weights and dropout
  // At the end of the first execution and then after so many steps, at the end of an execution.
  // 0: never.
  int64_t save_summary_steps = 100;
  int64_t log_step_count_steps = 100;  // the same for lines of loss and steps per second
  // At most one of the two; neither: every 600 seconds. Training also begins and ends with one.
  std::optional<int64_t> save_checkpoints_steps = {};
  std::optional<double> save_checkpoints_secs = {};
  bool save_checkpoints = true;
  int keep_checkpoint_max = 5;                      // 0: all
  double keep_checkpoint_every_n_hours = 10000;     // one of these hours is kept beyond that
  std::function<void(std::string_view)> tell = {};  // gets lines; empty: standard error
};

// Throws InvalidArgument that names the rule.
void validate(const RunConfig& config);

}  // namespace pando

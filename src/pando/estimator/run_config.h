// How an estimator runs: where its files are, how often it saves and logs, and its devices (loops,
// replicas, shards). The same configuration runs on one core or many.
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
  // How the machine is divided: one entry per set of devices that an estimator may use. Required
  // for more than one replica or shard, with num_replicas * num_shards devices. Empty: all cores
  // are one device.
  std::vector<DeviceStrategyOptions> devices = {};
  int ordinal = 0;            // index of the set to use
  bool autosharding = false;  // cut the network into num_shards parts with even memory
  int prefetch_depth = 3;     // micro-batches per replica that are prepared in advance
  int data_workers = 0;       // threads that prepare them; 0: one per core that no device uses
  Precision precision = {};
  LossScaling loss_scaling = {};
  // train() and evaluate() write reports of compilation and execution to model_dir.
  bool profiling = false;
  bool compile_summary = false;  // write the compilation report as text to the summaries
};

struct RunConfig {
  DeviceRunConfig device = {};
  std::string model_dir;     // see EstimatorOptions::model_dir
  uint64_t random_seed = 0;  // for initial weights and dropout
  // Written at the end of the first execution, and then at the end of an execution after at least
  // this many steps. 0: never.
  int64_t save_summary_steps = 100;
  int64_t log_step_count_steps = 100;  // the same for log lines with loss and steps per second
  // Set at most one of the two; neither: every 600 seconds. Training also saves at its start and
  // end.
  std::optional<int64_t> save_checkpoints_steps = {};
  std::optional<double> save_checkpoints_secs = {};
  bool save_checkpoints = true;
  int keep_checkpoint_max = 5;                      // 0: keep all
  double keep_checkpoint_every_n_hours = 10000;     // in addition, keep one per this time
  std::function<void(std::string_view)> tell = {};  // receives lines; empty: standard error
};

// Throws InvalidArgument that names the broken rule.
void validate(const RunConfig& config);

}  // namespace pando

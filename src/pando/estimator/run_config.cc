// SPDX-License-Identifier: MIT
#include "pando/estimator/run_config.h"

#include "pando/base/error.h"

namespace pando {

namespace {

template <typename T>
void at_least(const char* name, T value, T least) {
  if (value >= least) return;
  throw InvalidArgument("RunConfig: ", name, ": expected at least ", least, ", got ", value);
}

void check_devices(const DeviceRunConfig& device) {
  const int64_t wanted = int64_t{device.num_replicas} * device.num_shards;
  if (device.devices.empty()) {
    if (wanted > 1) {
      throw InvalidArgument("RunConfig: num_replicas x num_shards is ", device.num_replicas, " x ",
                            device.num_shards,
                            ", but no devices are configured; set "
                            "DeviceRunConfig::devices = {{.devices = ",
                            wanted, "}}");
    }
    if (device.ordinal != 0) {
      throw InvalidArgument("RunConfig: ordinal is ", device.ordinal,
                            ", but no devices are configured; use 0");
    }
    return;
  }
  const auto sets = static_cast<int>(device.devices.size());
  if (device.ordinal >= sets) {
    throw InvalidArgument("RunConfig: ordinal is ", device.ordinal, ", but ", sets,
                          sets == 1 ? " set of devices is" : " sets of devices are",
                          " configured; use 0 to ", sets - 1);
  }
  const int configured = device.devices[static_cast<size_t>(device.ordinal)].devices;
  if (configured != wanted) {
    throw InvalidArgument("RunConfig: num_replicas x num_shards is ", device.num_replicas, " x ",
                          device.num_shards, " = ", wanted, ", but set ", device.ordinal, " has ",
                          configured, configured == 1 ? " device" : " devices",
                          "; they must be equal");
  }
}

}  // namespace

void validate(const RunConfig& config) {
  const DeviceRunConfig& device = config.device;
  at_least<int64_t>("iterations_per_loop", device.iterations_per_loop, 1);
  at_least("num_replicas", device.num_replicas, 1);
  at_least("num_shards", device.num_shards, 1);
  at_least("ordinal", device.ordinal, 0);
  at_least("prefetch_depth", device.prefetch_depth, 1);
  at_least("data_workers", device.data_workers, 0);
  check_devices(device);
  at_least<int64_t>("save_summary_steps", config.save_summary_steps, 0);
  at_least<int64_t>("log_step_count_steps", config.log_step_count_steps, 0);
  at_least("keep_checkpoint_max", config.keep_checkpoint_max, 0);
  if (!(config.keep_checkpoint_every_n_hours > 0)) {
    throw InvalidArgument("RunConfig: keep_checkpoint_every_n_hours: expected more than 0, got ",
                          config.keep_checkpoint_every_n_hours);
  }
  if (config.save_checkpoints_steps && config.save_checkpoints_secs) {
    throw InvalidArgument(
        "RunConfig: save_checkpoints_steps and save_checkpoints_secs are both given; remove one");
  }
  if (!config.save_checkpoints && (config.save_checkpoints_steps || config.save_checkpoints_secs)) {
    throw InvalidArgument("RunConfig: save_checkpoints is false, but save_checkpoints_",
                          config.save_checkpoints_steps ? "steps" : "secs",
                          " is given; remove one of them");
  }
  if (config.save_checkpoints_steps) {
    at_least<int64_t>("save_checkpoints_steps", *config.save_checkpoints_steps, 1);
  }
  if (config.save_checkpoints_secs && !(*config.save_checkpoints_secs >= 0)) {
    throw InvalidArgument("RunConfig: save_checkpoints_secs: expected at least 0, got ",
                          *config.save_checkpoints_secs);
  }
}

}  // namespace pando

// The flags of `pando train` that steer other hardware or several processes: accepted and checked,
// so that command lines and configurations made for those work as they are. A few have a
// counterpart on a CPU.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pando/app/flags/device_flags.h"
#include "pando/options/options.h"

namespace pando::app {

enum class ExchangeTarget { cycles, memory, balanced };
enum class SchedulingAlgorithm { choose_best, clustering, post_order, look_ahead, shortest_path };

struct SiliconFlags {
  bool compile_only = false;
  bool deterministic = false;
  int64_t max_cross_replica_buffer_size = 0;
  std::vector<double> available_memory_proportion;  // in percent

  bool accelerator_side_reduction = false;
  bool ckpt_all_instances = false;

  bool on_demand = true;
  bool optimizer_state_offloading = true;
  std::optional<ExchangeTarget> internal_exchange_optimization_target;
  int64_t max_reduce_many_buffer_size = 0;
  bool conv_dithering = false;
  bool gather_conv_output = false;
  int64_t min_remote_tensor_size = 128;
  SchedulingAlgorithm scheduling_algorithm = SchedulingAlgorithm::choose_best;

  // Bytes of scratch memory that a kernel of one worker may take, for ExecutionOptions; empty
  // without --available-memory-proportion or --memory-per-device.
  std::vector<size_t> scratch_limits(const DeviceFlags& devices, int threads) const;
};

void add_silicon_flags(OptionTable& table, SiliconFlags& flags);

// What no single flag can check: throws UsageError that names the flags.
void validate(const SiliconFlags& flags, const DeviceFlags& devices);

// Turns off what cannot be in one process on a CPU, and tells it together with the flags that have
// no effect. The table is the one the flags are bound to.
std::vector<std::string> settle(OptionTable& table, SiliconFlags& flags,
                                const DeviceFlags& devices);

}  // namespace pando::app

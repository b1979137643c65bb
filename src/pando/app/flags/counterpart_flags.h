// The flags of `pando train` that come from other hardware and have a counterpart on a CPU.
// ignored_flags.h has the flags without a counterpart.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pando/app/flags/device_flags.h"
#include "pando/options/options.h"

namespace pando::app {

struct CounterpartFlags {
  bool compile_only = false;
  bool deterministic = false;
  int64_t max_cross_replica_buffer_size = 0;
  std::vector<double> available_memory_proportion;  // in percent

  bool ckpt_all_instances = false;

  // Bytes of scratch memory that a kernel of one worker may take, for ExecutionOptions; empty
  // without --available-memory-proportion or --memory-per-device.
  std::vector<size_t> scratch_limits(const DeviceFlags& devices, int threads) const;
};

void add_counterpart_flags(OptionTable& table, CounterpartFlags& flags);

// What no single flag can check: throws UsageError that names the flags.
void validate(const CounterpartFlags& flags, const DeviceFlags& devices);

// Turns off flags that these devices cannot follow. Returns a warning for each, and for every flag
// that has no effect because another one is missing. `table` is the one the flags are bound to.
std::vector<std::string> settle(OptionTable& table, CounterpartFlags& flags,
                                const DeviceFlags& devices);

}  // namespace pando::app

// SPDX-License-Identifier: MIT
#include "pando/app/flags/core_flags.h"

#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"
#include "pando/runtime/machine/device_set.h"

namespace pando::app {

void add_core_flags(OptionTable& table, CoreFlags& flags) {
  table
      .add("cores-per-device", flags.cores_per_device,
           "number of cores of each device; 0: divide the cores that this process may use evenly")
      .with_hint("N")
      .at_least(0)
      .at_most(runtime::kMostCoresPerDevice);
  table
      .add(
          "core-sets", flags.core_sets,
          "the hardware threads of each device, for example '0-3;4-7,9' for two devices; cannot be "
          "combined with --cores-per-device")
      .with_hint("SETS");
}

std::vector<std::vector<int>> core_sets_of(const CoreFlags& flags) {
  if (flags.core_sets.empty()) return {};
  if (flags.cores_per_device > 0) {
    throw UsageError("--core-sets: cannot be combined with --cores-per-device; remove one of them");
  }
  try {
    return runtime::parse_core_sets(flags.core_sets);
  } catch (const InvalidArgument& error) {
    throw UsageError("--core-sets: ", error.what());
  }
}

}  // namespace pando::app

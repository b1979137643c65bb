// SPDX-License-Identifier: MIT
#include "pando/app/flags/core_flags.h"

#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"
#include "pando/runtime/machine/device_set.h"

namespace pando::app {

void add_core_flags(OptionTable& table, CoreFlags& flags) {
  table
      .add("cores-per-device", flags.cores_per_device,
           "cores of each device; 0: an even division of those that this process may use")
      .with_hint("N")
      .at_least(0)
      .at_most(runtime::kMostCoresPerDevice);
  table
      .add("core-sets", flags.core_sets,
           "the hardware threads of each device, as in '0-3;4-7,9'; excludes --cores-per-device")
      .with_hint("SETS");
}

std::vector<std::vector<int>> core_sets_of(const CoreFlags& flags) {
  if (flags.core_sets.empty()) return {};
  if (flags.cores_per_device > 0) {
    throw UsageError("--core-sets: excludes --cores-per-device, wanted only one of them");
  }
  try {
    return runtime::parse_core_sets(flags.core_sets);
  } catch (const InvalidArgument& error) {
    throw UsageError("--core-sets: ", error.what());
  }
}

}  // namespace pando::app

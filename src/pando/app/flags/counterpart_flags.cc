// SPDX-License-Identifier: MIT
#include "pando/app/flags/counterpart_flags.h"

#include "pando/app/job/exit_code.h"

namespace pando::app {

std::vector<size_t> CounterpartFlags::scratch_limits(const DeviceFlags& devices,
                                                     int threads) const {
  if (devices.memory_per_device.bytes == 0) return {};
  const double of_a_worker = static_cast<double>(devices.memory_per_device.bytes) /
                             static_cast<double>(devices.cores_of_a_device(threads));
  std::vector<size_t> limits;
  for (const double percent : available_memory_proportion) {
    limits.push_back(static_cast<size_t>(of_a_worker * percent / 100));
  }
  return limits;
}

void add_counterpart_flags(OptionTable& table, CounterpartFlags& flags) {
  table.begin_group("Flags of other hardware");
  table
      .add("compile-only", flags.compile_only,
           "stop after the model is compiled; nothing is kept, for compiling takes no time worth "
           "a cache")
      .has(Effect::none);
  table
      .add("deterministic", flags.deterministic,
           "training data in their order: turns --shuffle off. Runs are deterministic anyway, "
           "with shuffling too")
      .counts_as("shuffle");
  table
      .add("max-cross-replica-buffer-size", flags.max_cross_replica_buffer_size,
           "gradients are gathered until they have at least this many bytes, or a stage has no "
           "more, before replicas sum them; 0: one MiB. Results do not depend on it")
      .has(Effect::none)
      .with_hint("BYTES")
      .at_least(0);
  table
      .add("available-memory-proportion", flags.available_memory_proportion,
           "percent of --memory-per-device that scratch memory of convolutions and dense layers "
           "may take: one value, or two for each stage (convolutions, dense layers); no effect "
           "without --memory-per-device")
      .counts_as("scratch memory")
      .with_hint("PERCENT")
      .at_least(0)
      .at_most(100);
  table
      .add("ckpt-all-instances", flags.ckpt_all_instances,
           "every instance writes its checkpoints, into rank<index>/ of their folder; off with a "
           "warning in one process")
      .has(Effect::none);
}

void validate(const CounterpartFlags& flags, const DeviceFlags& devices) {
  const size_t values = flags.available_memory_proportion.size();
  const auto stages = static_cast<size_t>(devices.stages());
  if (values <= 1) return;
  if (stages == 1) {
    throw UsageError(
        "--available-memory-proportion: expected one value without --pipeline-splits, "
        "got ",
        values);
  }
  if (values != 2 * stages) {
    throw UsageError("--available-memory-proportion: expected one value, or two for each of the ",
                     stages, " stages (", 2 * stages, "), got ", values);
  }
}

std::vector<std::string> settle(OptionTable& table, CounterpartFlags& flags,
                                const DeviceFlags& devices) {
  std::vector<std::string> warnings;
  if (flags.ckpt_all_instances && devices.instances == 1) {
    flags.ckpt_all_instances = false;
    table.find("ckpt-all-instances", "").origin = {.place = "off: one process"};
    warnings.emplace_back("--ckpt-all-instances is for several processes: off");
  }
  Option& on_demand = table.find("on-demand", "");
  if (flags.compile_only && on_demand.origin.kind != Origin::Kind::built_in &&
      on_demand.show().text == "true") {
    on_demand.read(ConfigValue::scalar("false"));
    on_demand.origin = {.place = "off by --compile-only"};
    warnings.emplace_back("--on-demand: off by --compile-only");
  }
  if (!flags.available_memory_proportion.empty() && devices.memory_per_device.bytes == 0) {
    warnings.emplace_back("--available-memory-proportion: no effect without --memory-per-device");
  }
  return warnings;
}

}  // namespace pando::app

// SPDX-License-Identifier: MIT
#include "pando/app/flags/silicon_flags.h"

#include "pando/app/job/exit_code.h"

namespace pando::app {
namespace {

void add_counterparts(OptionTable& table, SiliconFlags& flags) {
  table.add("compile-only", flags.compile_only,
            "stop after the model is compiled; nothing is kept, for compiling takes no time worth "
            "a cache");
  table.add("deterministic", flags.deterministic,
            "training data in their order: turns --shuffle off. Runs are deterministic anyway, "
            "with shuffling too");
  table
      .add("max-cross-replica-buffer-size", flags.max_cross_replica_buffer_size,
           "gradients are gathered until they are at least so many bytes, or the last of a stage, "
           "before replicas sum them; 0: one MiB. Results do not depend on it")
      .with_hint("BYTES")
      .at_least(0);
  table
      .add("available-memory-proportion", flags.available_memory_proportion,
           "percent of --memory-per-device that scratch memory of convolutions and dense layers "
           "may take: one value, or two for each stage (convolutions, dense layers); no effect "
           "without --memory-per-device")
      .with_hint("PERCENT")
      .at_least(0)
      .at_most(100);
  table.add(
      "accelerator-side-reduction", flags.accelerator_side_reduction,
      "devices of several instances reduce metrics, which they always do; off with a warning in "
      "one process");
  table.add("ckpt-all-instances", flags.ckpt_all_instances,
            "every instance writes its checkpoints, into rank<index>/ of their folder; off with a "
            "warning in one process");
}

void add_others(OptionTable& table, SiliconFlags& flags) {
  table.add("on-demand", flags.on_demand, "attach to devices late; no effect on a CPU");
  table.add("optimizer-state-offloading", flags.optimizer_state_offloading,
            "optimizer state out of device memory; no effect on a CPU");
  table.add_choice("internal-exchange-optimization-target",
                   flags.internal_exchange_optimization_target,
                   {{"cycles", ExchangeTarget::cycles},
                    {"memory", ExchangeTarget::memory},
                    {"balanced", ExchangeTarget::balanced}},
                   "no effect on a CPU");
  table.add("max-reduce-many-buffer-size", flags.max_reduce_many_buffer_size, "no effect on a CPU")
      .with_hint("BYTES")
      .at_least(0);
  table.add("conv-dithering", flags.conv_dithering, "no effect on a CPU");
  table.add("gather-conv-output", flags.gather_conv_output, "no effect on a CPU");
  table.add("min-remote-tensor-size", flags.min_remote_tensor_size, "no effect on a CPU")
      .with_hint("BYTES")
      .at_least(0);
  table.add_choice("scheduling-algorithm", flags.scheduling_algorithm,
                   {{"CHOOSE_BEST", SchedulingAlgorithm::choose_best},
                    {"CLUSTERING", SchedulingAlgorithm::clustering},
                    {"POST_ORDER", SchedulingAlgorithm::post_order},
                    {"LOOK_AHEAD", SchedulingAlgorithm::look_ahead},
                    {"SHORTEST_PATH", SchedulingAlgorithm::shortest_path}},
                   "no effect on a CPU");
}

// Off, with the reason as its origin.
void turn_off(OptionTable& table, const char* name, bool& field, const char* reason) {
  field = false;
  table.find(name, name).origin = {.place = reason};
}

}  // namespace

std::vector<size_t> SiliconFlags::scratch_limits(const DeviceFlags& devices, int threads) const {
  if (devices.memory_per_device.bytes == 0) return {};
  const double of_a_worker = static_cast<double>(devices.memory_per_device.bytes) /
                             static_cast<double>(devices.cores_of_a_device(threads));
  std::vector<size_t> limits;
  for (const double percent : available_memory_proportion) {
    limits.push_back(static_cast<size_t>(of_a_worker * percent / 100));
  }
  return limits;
}

void add_silicon_flags(OptionTable& table, SiliconFlags& flags) {
  table.begin_group("Flags of other hardware");
  add_counterparts(table, flags);
  add_others(table, flags);
}

void validate(const SiliconFlags& flags, const DeviceFlags& devices) {
  const size_t values = flags.available_memory_proportion.size();
  const auto stages = static_cast<size_t>(devices.stages());
  if (values <= 1) return;
  if (stages == 1) {
    throw UsageError("--available-memory-proportion: found ", values,
                     " values without --pipeline-splits, wanted one");
  }
  if (values != 2 * stages) {
    throw UsageError("--available-memory-proportion: found ", values,
                     " values, wanted one, or two for each of the ", stages, " stages (",
                     2 * stages, ")");
  }
}

std::vector<std::string> settle(OptionTable& table, SiliconFlags& flags,
                                const DeviceFlags& devices) {
  std::vector<std::string> warnings;
  const bool is_alone = devices.instances == 1;
  if (flags.accelerator_side_reduction && is_alone) {
    turn_off(table, "accelerator-side-reduction", flags.accelerator_side_reduction,
             "off: one process");
    warnings.emplace_back("--accelerator-side-reduction is for several processes: off");
  }
  if (flags.ckpt_all_instances && is_alone) {
    turn_off(table, "ckpt-all-instances", flags.ckpt_all_instances, "off: one process");
    warnings.emplace_back("--ckpt-all-instances is for several processes: off");
  }
  if (flags.compile_only && table.find_exact("on-demand")->origin.kind != Origin::Kind::built_in &&
      flags.on_demand) {
    turn_off(table, "on-demand", flags.on_demand, "off by --compile-only");
    warnings.emplace_back("--on-demand: off by --compile-only");
  }
  std::vector<std::string> idle;
  for (const char* name :
       {"on-demand", "optimizer-state-offloading", "internal-exchange-optimization-target",
        "max-reduce-many-buffer-size", "conv-dithering", "gather-conv-output",
        "min-remote-tensor-size", "scheduling-algorithm"}) {
    const Option& option = *table.find_exact(name);
    if (is_changed(option)) idle.push_back(std::string("--") + name);
  }
  if (!flags.available_memory_proportion.empty() && devices.memory_per_device.bytes == 0) {
    idle.emplace_back("--available-memory-proportion (without --memory-per-device)");
  }
  if (!idle.empty()) warnings.push_back(join(idle, ", ") + ": no effect on a CPU");
  return warnings;
}

}  // namespace pando::app

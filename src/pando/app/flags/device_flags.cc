// SPDX-License-Identifier: MIT
#include "pando/app/flags/device_flags.h"

#include <algorithm>
#include <set>

#include "pando/app/job/exit_code.h"
#include "pando/base/strings.h"
#include "pando/runtime/machine/device_set.h"
#include "pando/runtime/program/schedule.h"

namespace pando::app {
namespace {

constexpr int kMostAccumulation = 1 << 24;
constexpr int kMostReplicas = 1 << 20;  // of all instances; devices of an instance are checked
constexpr const char* kAuto = "auto";

void add_replication_flags(OptionTable& table, DeviceFlags& flags) {
  table.begin_group("Replication and accumulation");
  table.add("num-replicas", flags.num_replicas, "copies of the model side by side on own devices")
      .with_hint("N")
      .at_least(1)
      .at_most(kMostReplicas);
  table
      .add("gradient-accumulation-count", flags.gradient_accumulation_count,
           "micro-batches of a replica per weight update; 1 if neither this nor "
           "--global-batch-size is given")
      .with_hint("N")
      .at_least(1)
      .at_most(kMostAccumulation);
  table
      .add("global-batch-size", flags.global_batch_size,
           "samples per weight update; gives the accumulation count, rounded if need be")
      .with_hint("N")
      .at_least(1);
  table.add_choice("gradient-reduction", flags.gradient_reduction,
                   {{"mean", GradientReduction::mean},
                    {"sum", GradientReduction::sum},
                    {"running_mean", GradientReduction::running_mean}},
                   "how the gradients of the micro-batches of one weight update become one; in "
                   "half precision a mean is a running_mean, which cannot overflow");
  table
      .add("dbn-replica-group-size", flags.dbn_replica_group_size,
           "so many replicas take the statistics of batch normalisation together")
      .with_hint("N")
      .at_least(1)
      .at_most(runtime::kMostDevices);
  table.add_choice("exchange-format", flags.exchange_format,
                   {{"f32", comm::WireFormat::f32},
                    {"f16", comm::WireFormat::f16},
                    {"bf16", comm::WireFormat::bf16}},
                   "how gradients travel between the instances of a job: as they are, or rounded "
                   "to 16 bits, in half the bytes. By default as --precision computes");
}

// A bare flag and the words of booleans work too, as for the original's flag.
void add_recomputation_flag(OptionTable& table, DeviceFlags& flags) {
  RecomputationFlag& field = flags.recomputation;
  Option& option =
      table.add_choice("recomputation", field,
                       {{"false", RecomputationFlag::off},
                        {"true", RecomputationFlag::automatic},
                        {"then_backward", RecomputationFlag::then_backward},
                        {"interleaved", RecomputationFlag::interleaved}},
                       "compute activations again for backward instead of holding them: the whole "
                       "stage before its backward, or each just before it is needed; true: the "
                       "first, or the second for the sequential schedule");
  option.is_bool = true;
  option.read = [&field, by_name = option.read](const ConfigValue& value) {
    const auto on = value.kind == ConfigValue::Kind::scalar ? parse_bool(value.text) : std::nullopt;
    if (!on) return by_name(value);
    field = *on ? RecomputationFlag::automatic : RecomputationFlag::off;
    return true;
  };
}

void add_schedule_flag(OptionTable& table, DeviceFlags& flags) {
  std::vector<std::pair<std::string, PipelineSchedule>> choices;
  std::vector<std::string> in_flight;
  for (const runtime::ScheduleRecord& record : runtime::schedules()) {
    choices.emplace_back(record.name, record.schedule);
    in_flight.push_back(concat(record.name, " ", record.in_flight));
  }
  table.add_choice("pipeline-schedule", flags.pipeline_schedule, std::move(choices),
                   concat("the order in which stages work: ", join(in_flight, ", ")));
}

void add_pipeline_flags(OptionTable& table, DeviceFlags& flags) {
  table.begin_group("Pipeline");
  table
      .add("pipeline-splits", flags.pipeline_splits,
           "layers that start a new stage, in execution order; auto: measure and choose")
      .with_hint("LAYER");
  table
      .add("pipeline-stages", flags.pipeline_stages,
           "stages for --pipeline-splits auto; 0: as --device-mapping has entries, else 2")
      .with_hint("N")
      .at_least(0)
      .at_most(runtime::kMostDevices);
  table
      .add("device-mapping", flags.device_mapping,
           "the device of each stage within a replica; by default one each")
      .with_hint("N")
      .at_least(0)
      .at_most(runtime::kMostDevices);
  add_schedule_flag(table, flags);
  add_recomputation_flag(table, flags);
  table.add("pipeline-validation-model", flags.pipeline_validation_model,
            "validate through the pipeline; otherwise every device runs the whole model");
}

void add_machine_flags(OptionTable& table, DeviceFlags& flags) {
  table.begin_group("Devices");
  add_core_flags(table, flags);
  table
      .add("memory-per-device", flags.memory_per_device,
           "refuse a program that needs more on one device; 0: no limit")
      .with_hint("BYTES");
}

void validate_splits(const DeviceFlags& flags) {
  const auto& splits = flags.pipeline_splits;
  if (splits.size() > 1 && std::find(splits.begin(), splits.end(), kAuto) != splits.end()) {
    throw UsageError("--pipeline-splits: found 'auto' among ", splits.size(),
                     " names, wanted it alone or only names of layers");
  }
  if (flags.pipeline_stages != 0 && !flags.splits_are_measured()) {
    throw UsageError("--pipeline-stages ", flags.pipeline_stages,
                     ": wanted together with --pipeline-splits auto; named splits tell the number");
  }
  if (flags.pipeline_stages == 1) {
    throw UsageError("--pipeline-stages: found 1, wanted at least 2, or no --pipeline-splits");
  }
  if (flags.recomputation != RecomputationFlag::off && splits.empty()) {
    throw UsageError("--recomputation: wanted together with --pipeline-splits");
  }
}

void validate_mapping(const DeviceFlags& flags) {
  const std::vector<int>& mapping = flags.device_mapping;
  if (mapping.empty()) return;
  if (static_cast<int>(mapping.size()) != flags.stages()) {
    throw UsageError("--device-mapping: found ", mapping.size(), " entries, wanted ",
                     flags.stages(), ", one for each stage (--pipeline-splits has ",
                     flags.stages() - 1, ")");
  }
  const std::set<int> used(mapping.begin(), mapping.end());
  const int last = *used.rbegin();
  if (static_cast<int>(used.size()) == last + 1) return;
  int missing = 0;
  while (used.contains(missing)) ++missing;
  throw UsageError("--device-mapping: device ", missing,
                   " has no stage, wanted every device from "
                   "0 to ",
                   last, " to have one");
}

void validate_statistics(const DeviceFlags& flags) {
  const int group = flags.dbn_replica_group_size;
  if (group == 1) return;
  if (flags.devices_per_replica() != 1) {
    throw UsageError("--dbn-replica-group-size ", group, ": a replica has ",
                     flags.devices_per_replica(), " devices, wanted one device per replica");
  }
  if (flags.num_replicas % group != 0) {
    throw UsageError("--dbn-replica-group-size ", group, ": wanted a number that divides the ",
                     flags.num_replicas, " of --num-replicas");
  }
  if (flags.local_replicas() % group != 0 && group % flags.local_replicas() != 0) {
    throw UsageError("--dbn-replica-group-size ", group, ": an instance has ",
                     flags.local_replicas(),
                     " replicas, wanted groups within an instance or of whole instances");
  }
}

void validate_cores(const DeviceFlags& flags, int threads) {
  const int devices = flags.devices();
  if (threads > 0 && (devices > 1 || !flags.pipeline_splits.empty())) {
    throw UsageError("--threads ", threads,
                     ": it is for runs on one device without stages, "
                     "wanted --cores-per-device");
  }
  if (threads > 0 && (flags.cores_per_device > 0 || !flags.core_sets.empty())) {
    throw UsageError("--threads ", threads,
                     ": excludes --cores-per-device and --core-sets, "
                     "wanted only one of them");
  }
  const size_t sets = core_sets_of(flags).size();
  if (sets != 0 && sets != static_cast<size_t>(devices)) {
    throw UsageError("--core-sets: found ", sets, " for ", devices, " devices (",
                     flags.local_replicas(), " replicas x ", flags.devices_per_replica(),
                     "), wanted one for each device");
  }
}

}  // namespace

bool DeviceFlags::splits_are_measured() const {
  return pipeline_splits.size() == 1 && pipeline_splits[0] == kAuto;
}

int DeviceFlags::stages() const {
  if (!splits_are_measured()) return static_cast<int>(pipeline_splits.size()) + 1;
  if (pipeline_stages > 0) return pipeline_stages;
  return device_mapping.empty() ? 2 : static_cast<int>(device_mapping.size());
}

int DeviceFlags::devices_per_replica() const {
  if (device_mapping.empty()) return stages();
  return *std::max_element(device_mapping.begin(), device_mapping.end()) + 1;
}

BatchConfiguration DeviceFlags::batch(int64_t micro_batch_size) const {
  BatchConfiguration batch =
      make_batch_configuration({.micro_batch_size = micro_batch_size,
                                .num_replicas = num_replicas,
                                .gradient_accumulation_count = gradient_accumulation_count,
                                .global_batch_size = global_batch_size});
  if (batch.gradient_accumulation_count > kMostAccumulation) {
    throw UsageError("--global-batch-size ", batch.global_batch_size, ": it takes ",
                     batch.gradient_accumulation_count,
                     " micro-batches of a replica, wanted at "
                     "most ",
                     kMostAccumulation);
  }
  return batch;
}

PipeliningOptions DeviceFlags::pipelining(int accumulation) const {
  PipeliningOptions options{.gradient_accumulation_steps_per_replica = accumulation,
                            .device_mapping = device_mapping,
                            .schedule = pipeline_schedule,
                            .reduction = gradient_reduction,
                            .pipelined_inference = pipeline_validation_model};
  switch (recomputation) {
    case RecomputationFlag::off: break;
    case RecomputationFlag::automatic:
      options.recomputation = runtime::record_of(pipeline_schedule).one_at_a_time
                                  ? Recomputation::interleaved
                                  : Recomputation::then_backward;
      break;
    case RecomputationFlag::then_backward:
      options.recomputation = Recomputation::then_backward;
      break;
    case RecomputationFlag::interleaved: options.recomputation = Recomputation::interleaved; break;
  }
  return options;
}

DeviceStrategyOptions DeviceFlags::strategy(int threads) const {
  DeviceStrategyOptions options{.devices = devices(),
                                .cores_per_device = threads > 0 ? threads : cores_per_device,
                                .core_sets = core_sets_of(*this),
                                .memory_per_device = memory_per_device.bytes};
  return options;
}

int DeviceFlags::cores_of_a_device(int threads) const {
  const DeviceStrategyOptions options = strategy(threads);
  try {
    const auto devices =
        runtime::divide_machine(runtime::topology_of(comm::current_job()),
                                {options.devices, options.core_sets, options.cores_per_device});
    return static_cast<int>(devices.at(0).cores.size());
  } catch (const InvalidArgument& error) {
    throw UsageError("--core-sets: ", error.what());  // the ranges of the other flags are checked
  }
}

void add_device_flags(OptionTable& table, DeviceFlags& flags) {
  add_replication_flags(table, flags);
  add_pipeline_flags(table, flags);
  add_machine_flags(table, flags);
}

void validate(const DeviceFlags& flags, int threads) {
  validate_splits(flags);
  validate_mapping(flags);
  if (flags.devices_per_replica() > runtime::kMostDevices / flags.local_replicas()) {
    throw UsageError(
        "--num-replicas ", flags.num_replicas, ": ", counted(flags.devices_per_replica(), "device"),
        " each are too many, wanted at most ", runtime::kMostDevices, " devices in an instance");
  }
  validate_statistics(flags);
  validate_cores(flags, threads);
}

}  // namespace pando::app

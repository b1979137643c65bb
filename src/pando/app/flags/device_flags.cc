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
constexpr int kMostReplicas = 1 << 20;  // of all instances; validate() checks each instance
constexpr const char* kAuto = "auto";

void add_replication_flags(OptionTable& table, DeviceFlags& flags) {
  table.begin_group("Replication and accumulation");
  table
      .add("num-replicas", flags.num_replicas,
           "number of copies of the model that train in parallel, each on its own devices")
      .with_hint("N")
      .at_least(1)
      .at_most(kMostReplicas);
  table
      .add("gradient-accumulation-count", flags.gradient_accumulation_count,
           "number of micro-batches of a replica per weight update; default: follows from "
           "--global-batch-size, or 1 without it")
      .counts_as("global batch size")
      .with_hint("N")
      .at_least(1)
      .at_most(kMostAccumulation);
  table
      .add("global-batch-size", flags.global_batch_size,
           "number of samples per weight update; determines the gradient accumulation count. If it "
           "is not a multiple of micro-batch size x replicas, it is rounded with a warning")
      .counts_as("global batch size")
      .with_hint("N")
      .at_least(1);
  table.add_choice("gradient-reduction", flags.gradient_reduction,
                   {{"mean", GradientReduction::mean},
                    {"sum", GradientReduction::sum},
                    {"running_mean", GradientReduction::running_mean}},
                   "how the gradients of the micro-batches of one weight update are combined; in "
                   "half precision mean is computed as running_mean, which cannot overflow");
  table
      .add("dbn-replica-group-size", flags.dbn_replica_group_size,
           "number of replicas that compute the statistics of batch normalisation together")
      .with_hint("N")
      .at_least(1)
      .at_most(runtime::kMostDevices);
  table.add_choice("exchange-format", flags.exchange_format,
                   {{"f32", comm::WireFormat::f32},
                    {"f16", comm::WireFormat::f16},
                    {"bf16", comm::WireFormat::bf16}},
                   "the number format of gradients sent between the instances of a job; the 16-bit "
                   "formats round them and halve the data. Default: the format in which "
                   "--precision computes");
}

// Also accepts the flag without a value and boolean values, like the original application.
void add_recomputation_flag(OptionTable& table, DeviceFlags& flags) {
  RecomputationFlag& field = flags.recomputation;
  Option& option =
      table.add_choice("recomputation", field,
                       {{"false", RecomputationFlag::off},
                        {"true", RecomputationFlag::automatic},
                        {"then_backward", RecomputationFlag::then_backward},
                        {"interleaved", RecomputationFlag::interleaved}},
                       "save memory: recompute activations for the backward pass instead of "
                       "keeping them. then_backward recomputes the whole stage before its backward "
                       "pass, interleaved recomputes each activation just before it is needed; "
                       "true: interleaved for the sequential schedule, otherwise then_backward");
  option.is_bool = true;
  option.effect = Effect::none;
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
  table
      .add_choice("pipeline-schedule", flags.pipeline_schedule, std::move(choices),
                  concat("the order in which the stages process micro-batches, and how many are "
                         "in progress at the same time: ",
                         join(in_flight, ", ")))
      .has(Effect::none);
}

void add_pipeline_flags(OptionTable& table, DeviceFlags& flags) {
  table.begin_group("Pipeline");
  table
      .add("pipeline-splits", flags.pipeline_splits,
           "names of the layers that start a new pipeline stage, in execution order; auto: measure "
           "the layers and choose splits")
      .counts_as("pipeline splits")
      .with_hint("LAYER");
  table
      .add("pipeline-stages", flags.pipeline_stages,
           "number of stages for --pipeline-splits auto; 0: the number of entries of "
           "--device-mapping, or 2 without it")
      .counts_as("pipeline splits")
      .with_hint("N")
      .at_least(0)
      .at_most(runtime::kMostDevices);
  table
      .add("device-mapping", flags.device_mapping,
           "the device (from 0) of each stage within a replica; default: one device per stage")
      .has(Effect::none)
      .with_hint("N")
      .at_least(0)
      .at_most(runtime::kMostDevices);
  add_schedule_flag(table, flags);
  add_recomputation_flag(table, flags);
  table
      .add("pipeline-validation-model", flags.pipeline_validation_model,
           "validate with the pipeline stages; otherwise every device runs the whole model")
      .has(Effect::none);
}

void add_machine_flags(OptionTable& table, DeviceFlags& flags) {
  table.begin_group("Devices", Effect::none);
  add_core_flags(table, flags);
  table
      .add("memory-per-device", flags.memory_per_device,
           "stop with an error if the program needs more memory than this on one device; 0: no "
           "limit")
      .has(Effect::changes_results)
      .counts_as("scratch memory")
      .with_hint("BYTES");
  table
      .add("memory-limit", flags.memory_limit,
           "refuse a run of which an instance would hold more than this; 0: more than the machine, "
           "its control groups and ulimit leave")
      .with_hint("BYTES");
}

void validate_splits(const DeviceFlags& flags) {
  const auto& splits = flags.pipeline_splits;
  if (splits.size() > 1 && std::find(splits.begin(), splits.end(), kAuto) != splits.end()) {
    throw UsageError("--pipeline-splits: expected 'auto' alone or names of layers, got 'auto' in ",
                     splits.size(), " names");
  }
  if (flags.pipeline_stages != 0 && !flags.splits_are_measured()) {
    throw UsageError("--pipeline-stages ", flags.pipeline_stages,
                     ": needs --pipeline-splits auto; named splits determine the number of stages");
  }
  if (flags.pipeline_stages == 1) {
    throw UsageError(
        "--pipeline-stages: expected at least 2, got 1; remove --pipeline-splits for a run without "
        "stages");
  }
  if (flags.recomputation != RecomputationFlag::off && splits.empty()) {
    throw UsageError("--recomputation: needs pipeline stages; add --pipeline-splits or remove it");
  }
}

void validate_mapping(const DeviceFlags& flags) {
  const std::vector<int>& mapping = flags.device_mapping;
  if (mapping.empty()) return;
  if (static_cast<int>(mapping.size()) != flags.stages()) {
    throw UsageError("--device-mapping: expected ", flags.stages(),
                     " entries, one for each stage (--pipeline-splits has ", flags.stages() - 1,
                     "), got ", mapping.size());
  }
  const std::set<int> used(mapping.begin(), mapping.end());
  const int last = *used.rbegin();
  if (static_cast<int>(used.size()) == last + 1) return;
  int missing = 0;
  while (used.contains(missing)) ++missing;
  throw UsageError("--device-mapping: expected a stage on every device from 0 to ", last,
                   ", but device ", missing, " has none");
}

void validate_statistics(const DeviceFlags& flags) {
  const int group = flags.dbn_replica_group_size;
  if (group == 1) return;
  if (flags.devices_per_replica() != 1) {
    throw UsageError("--dbn-replica-group-size ", group, ": expected one device per replica, got ",
                     flags.devices_per_replica(), "; remove this flag or --pipeline-splits");
  }
  if (flags.num_replicas % group != 0) {
    throw UsageError("--dbn-replica-group-size: expected a divisor of --num-replicas ",
                     flags.num_replicas, ", got ", group);
  }
  if (flags.local_replicas() % group != 0 && group % flags.local_replicas() != 0) {
    throw UsageError("--dbn-replica-group-size: expected a divisor or a multiple of the ",
                     flags.local_replicas(), " replicas of an instance, got ", group);
  }
}

void validate_cores(const DeviceFlags& flags, int threads) {
  const int devices = flags.devices();
  if (threads > 0 && (devices > 1 || !flags.pipeline_splits.empty())) {
    throw UsageError("--threads ", threads,
                     ": works only for a run on one device without stages; use --cores-per-device");
  }
  if (threads > 0 && (flags.cores_per_device > 0 || !flags.core_sets.empty())) {
    throw UsageError("--threads ", threads,
                     ": cannot be combined with --cores-per-device or --core-sets; use only one");
  }
  const size_t sets = core_sets_of(flags).size();
  if (sets != 0 && sets != static_cast<size_t>(devices)) {
    throw UsageError("--core-sets: expected one set for each device (", flags.local_replicas(),
                     " replicas x ", flags.devices_per_replica(), " = ", devices, "), got ", sets);
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
    throw UsageError("--global-batch-size ", batch.global_batch_size, ": expected at most ",
                     kMostAccumulation, " micro-batches of a replica per weight update, got ",
                     batch.gradient_accumulation_count);
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
    throw UsageError("--core-sets: ", error.what());  // the other flags were checked before
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
    throw UsageError("--num-replicas ", flags.num_replicas, ": expected at most ",
                     runtime::kMostDevices, " devices in an instance, got ", flags.local_replicas(),
                     " replicas of ", counted(flags.devices_per_replica(), "device"), " each");
  }
  validate_statistics(flags);
  validate_cores(flags, threads);
}

}  // namespace pando::app

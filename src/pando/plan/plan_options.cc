// SPDX-License-Identifier: MIT
#include "pando/plan/plan_options.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "pando/app/job/exit_code.h"
#include "pando/options/output_place.h"
#include "pando/runtime/machine/device_set.h"

namespace pando::plan {

namespace {

constexpr const char* kHelpHead = R"(usage: pando plan --model M --instances N [flags]

Measures the model on this machine and predicts how fast it trains on up to N instances on machines
like this one, for every combination of replicas, pipeline stages and gradient buckets. Prints the
best combinations and recommends one with its command line. Also accepts the flags of 'pando train'
that describe what is trained. Uses random images unless --synthetic-data is given.

examples:
  pando plan --model cifar_resnet8 --micro-batch-size 32 --instances 16 --network 25gbe
  pando plan --model resnet50 --global-batch-size 4096 --instances 4096 --bandwidth 10Gbit --latency 50us
  pando plan --model mnist_cnn --instances 4 --network local --json

exit codes: 0 done, 1 failed, 2 wrong flag or configuration.

)";

constexpr std::array kShownGroups = {"Plan", "Model", "Training", "Optimizer", "Configuration"};

// Flags of `pando train` that have no meaning here: the plan decides them, or they belong to a run.
struct ForeignFlag {
  const char* name;
  const char* instead;
};
constexpr std::array kForeignFlags = {
    ForeignFlag{"num-replicas", "use --instances; all numbers of replicas are tried"},
    ForeignFlag{"pipeline-splits", "remove it; all numbers of stages are tried"},
    ForeignFlag{"pipeline-stages", "remove it; all numbers of stages are tried"},
    ForeignFlag{"device-mapping", "remove it; every stage has its own device"},
    ForeignFlag{"cores-per-device", "remove it; the cores are divided evenly"},
    ForeignFlag{"core-sets", "remove it; the cores are divided evenly"},
    ForeignFlag{"threads", "remove it; the cores are divided evenly"},
    ForeignFlag{"slices", "remove it; there are as many slices as cores of a device"},
    ForeignFlag{"recomputation", "remove it; activations are kept"},
    ForeignFlag{"dbn-replica-group-size", "remove it; every replica has its own statistics"},
    ForeignFlag{"max-cross-replica-buffer-size", "use --bucket-sizes"},
    ForeignFlag{"dry-run", "use `pando train`"},
    ForeignFlag{"verify", "use `pando train`"},
    ForeignFlag{"trace", "use `pando train`"},
    ForeignFlag{"compile-report", "use `pando train`"},
    ForeignFlag{"dump-ir", "use `pando train`"}};

void add_plan_flags(OptionTable& table, PlanOptions& options) {
  table.begin_group("Plan");
  table
      .add("instances", options.instances,
           "maximum number of processes that train together; tries 1, 2, 4, .. up to it")
      .with_alias("num-instances")
      .with_hint("N")
      .at_least(1)
      .at_most(kMostInstances);
  table
      .add("instances-per-host", options.instances_per_host,
           "instances on each machine; they divide its cores and share its network link")
      .with_hint("N")
      .at_least(1)
      .at_most(runtime::kMostDevices);
  std::vector<std::pair<std::string, std::string>> names;
  for (const NamedLink& named : named_links()) names.emplace_back(named.name, named.name);
  table.add_choice("network", options.network, std::move(names),
                   "network between the machines; local: all instances are on this machine");
  table
      .add("bandwidth", options.bandwidth,
           "bandwidth of a machine's link in each direction, replaces that of --network: 10Gbit, "
           "1.25GB/s")
      .with_hint("RATE");
  table
      .add("latency", options.latency,
           "latency of a message, replaces that of --network: 50us, 2ms")
      .with_hint("TIME");
  table
      .add("bucket-sizes", options.bucket_sizes,
           "bytes of gradients that are sent together; by default 256K, 1M, .. up to all gradients")
      .with_hint("BYTES");
  table
      .add("measure-seconds", options.measure_seconds,
           "approximate seconds to measure each division of the cores; more is better on a busy "
           "machine")
      .with_hint("X")
      .above(0);
  table.add("top", options.top, "number of combinations to list").with_hint("N").at_least(1);
  table.add("json", options.json, "print JSON");
  table
      .add("plot", options.plot,
           "write a picture with samples per second and exposed communication by number of "
           "instances")
      .with_hint("FILE.svg");
  for (const Option& option : table.options()) table.find(option.name, "").in_config = false;
}

bool is_given(const Option& option) { return option.origin.kind == Origin::Kind::command_line; }

void refuse_foreign_flags(const OptionTable& table) {
  for (const ForeignFlag& foreign : kForeignFlags) {
    const Option* option = table.find_exact(foreign.name);
    if (option == nullptr || !is_given(*option)) continue;
    throw UsageError("--", foreign.name, ": not a flag of `pando plan`; ", foreign.instead);
  }
}

// Resets the options of a configuration file that spread training: the plan decides them.
void forget_spreading(app::TrainOptions& options) {
  app::DeviceFlags devices;
  devices.gradient_accumulation_count = options.devices.gradient_accumulation_count;
  devices.global_batch_size = options.devices.global_batch_size;
  devices.gradient_reduction = options.devices.gradient_reduction;
  devices.exchange_format = options.devices.exchange_format;
  devices.pipeline_schedule = options.devices.pipeline_schedule;
  devices.memory_per_device = options.devices.memory_per_device;
  options.devices = devices;
  options.threads = 0;
  options.slices = 0;
  options.counterparts.max_cross_replica_buffer_size = 0;
  options.phases.validation_num_replicas.reset();
}

// Refuses divisions that `pando run` would refuse.
void check_hosts(const PlanOptions& options) {
  const bool local = options.network == kLocal;
  if (local && options.instances > runtime::kMostDevices) {
    throw UsageError("--instances: expected at most ", runtime::kMostDevices,
                     " on one machine (--network local), got ", options.instances);
  }
  const int each = options.instances_per_host;
  if (!local && options.instances > each && options.instances % each != 0) {
    throw UsageError("--instances-per-host: expected a divisor of --instances ", options.instances,
                     ", got ", each);
  }
}

void check_plot(const std::string& plot) {
  if (plot.empty()) return;
  const std::filesystem::path path(plot);
  if (path.extension() != ".svg") {
    throw UsageError("--plot: expected a name that ends with .svg, got '", plot, "'");
  }
  check_output_file("--plot", plot);
}

void validate(const PlanOptions& options) {
  if (options.network == kLocal && (options.bandwidth || options.latency)) {
    throw UsageError(options.bandwidth ? "--bandwidth" : "--latency",
                     ": cannot be combined with --network local, which has no link between "
                     "machines; remove one of them");
  }
  check_hosts(options);
  check_plot(options.plot);
  for (const ByteSize& size : options.bucket_sizes) {
    if (size.bytes < 1) throw UsageError("--bucket-sizes: expected at least 1, got 0");
  }
}

std::string quoted(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=/.,:@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// The given flags that `pando train` also needs, as they are written on a command line.
std::vector<std::string> flags_for_training(const OptionTable& table) {
  std::vector<std::string> flags;
  for (const Option& option : table.options()) {
    if (!is_given(option) || option.group == "Plan" || option.name == "global-batch-size" ||
        option.name == "gradient-accumulation-count" || option.name == "micro-batch-size" ||
        option.name == "model" || option.name == "synthetic-data") {
      continue;
    }
    const ConfigValue value = option.show();
    flags.push_back("--" + option.name);
    if (value.kind == ConfigValue::Kind::list) {
      for (const ConfigValue& item : value.items) flags.push_back(quoted(item.text));
    } else {
      const bool scalar = value.kind == ConfigValue::Kind::scalar;
      flags.push_back(quoted(scalar ? value.text : to_yaml(value)));
    }
  }
  return flags;
}

void hide_what_does_not_matter(OptionTable& table) {
  for (const Option& option : table.options()) {
    const bool shown = std::ranges::find(kShownGroups, option.group) != kShownGroups.end() ||
                       option.name == "global-batch-size" ||
                       option.name == "gradient-accumulation-count" ||
                       option.name == "memory-per-device" || option.name == "exchange-format" ||
                       option.name == "synthetic-data";
    table.find(option.name, "").hidden = !shown;
  }
}

}  // namespace

std::string PlanOptions::network_name() const { return bandwidth || latency ? "given" : network; }

PlanRequest PlanOptions::request() const {
  PlanRequest request{.instances = instances,
                      .instances_per_host = network == kLocal ? instances : instances_per_host,
                      .link = find_link(network),
                      .micro_batch_size = train.micro_batch_size,
                      .global_batch_size = train.devices.global_batch_size,
                      .accumulation = train.devices.gradient_accumulation_count.value_or(1),
                      .schedule = train.devices.pipeline_schedule,
                      .memory_per_device = train.devices.memory_per_device.bytes};
  if (train.devices.exchange_format != comm::WireFormat::f32) request.wire_share = 0.5;
  if (bandwidth) request.link.bandwidth = *bandwidth;
  if (latency) request.link.latency = *latency;
  for (const ByteSize& size : bucket_sizes) request.bucket_bytes.push_back(size.bytes);
  return request;
}

std::optional<PlanOptions> parse_plan_options(std::span<const std::string> args,
                                              std::ostream& out) {
  PlanOptions options;
  CommonOptions common;
  OptionTable table;
  add_plan_flags(table, options);
  app::add_train_options(table, options.train);
  add_common_options(table, common);
  hide_what_does_not_matter(table);
  parse_command_line(table, common, args);
  if (common.help) {
    out << kHelpHead << help_text(table);
    return std::nullopt;
  }
  refuse_foreign_flags(table);
  validate(options);
  options.train_flags = flags_for_training(table);
  forget_spreading(options.train);
  if (!is_given(*table.find_exact("synthetic-data"))) {
    options.train.data.synthetic_data = app::SyntheticData::device;
  }
  if (!app::settle_train_options(table, common, options.train, out)) return std::nullopt;
  return options;
}

}  // namespace pando::plan

// SPDX-License-Identifier: MIT
#include "pando/plan/plan_options.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "pando/app/job/exit_code.h"
#include "pando/runtime/device_set.h"

namespace pando::plan {

namespace {

constexpr const char* kHelpHead = R"(usage: pando plan --model M --instances N [flags]

Measures the model on this machine and predicts how fast it trains on up to N instances of machines
like this one, for every combination of replicas, pipeline stages and buckets of gradients; prints
the best ones and recommends one with its command line. Flags of 'pando train' that say what is
trained are accepted too. Random images are trained on unless --synthetic-data says otherwise.

examples:
  pando plan --model cifar_resnet8 --micro-batch-size 32 --instances 16 --network 25gbe
  pando plan --model resnet50 --global-batch-size 4096 --instances 4096 --bandwidth 10Gbit --latency 50us
  pando plan --model mnist_cnn --instances 4 --network local --json

exit codes: 0 done, 1 failed, 2 wrong flag or configuration.

)";

constexpr std::array kShownGroups = {"Plan", "Model", "Training", "Optimizer", "Configuration"};

// What the plan decides, and what a run does that this is not.
struct ForeignFlag {
  const char* name;
  const char* instead;
};
constexpr std::array kForeignFlags = {
    ForeignFlag{"num-replicas", "--instances; all numbers of replicas are tried"},
    ForeignFlag{"pipeline-splits", "none; all numbers of stages are tried"},
    ForeignFlag{"pipeline-stages", "none; all numbers of stages are tried"},
    ForeignFlag{"device-mapping", "none; every stage has a device of its own"},
    ForeignFlag{"cores-per-device", "none; the cores are divided evenly"},
    ForeignFlag{"core-sets", "none; the cores are divided evenly"},
    ForeignFlag{"threads", "none; the cores are divided evenly"},
    ForeignFlag{"slices", "none; there are as many as cores of a device"},
    ForeignFlag{"recomputation", "none; activations are kept"},
    ForeignFlag{"dbn-replica-group-size", "none; replicas have statistics of their own"},
    ForeignFlag{"max-cross-replica-buffer-size", "--bucket-sizes"},
    ForeignFlag{"dry-run", "`pando train`"},
    ForeignFlag{"verify", "`pando train`"},
    ForeignFlag{"trace", "`pando train`"},
    ForeignFlag{"compile-report", "`pando train`"},
    ForeignFlag{"dump-ir", "`pando train`"}};

void add_plan_flags(OptionTable& table, PlanOptions& options) {
  table.begin_group("Plan");
  table
      .add("instances", options.instances,
           "processes that train together, at most; 1, 2, 4, .. up to it are tried")
      .with_alias("num-instances")
      .with_hint("N")
      .at_least(1)
      .at_most(kMostInstances);
  table
      .add("instances-per-host", options.instances_per_host,
           "instances of a machine, which divide its cores and share its link")
      .with_hint("N")
      .at_least(1)
      .at_most(runtime::kMostDevices);
  std::vector<std::pair<std::string, std::string>> names;
  for (const NamedLink& named : named_links()) names.emplace_back(named.name, named.name);
  table.add_choice("network", options.network, std::move(names),
                   "what connects the machines; local: all instances are on this one");
  table
      .add("bandwidth", options.bandwidth,
           "of a machine's link in each direction, in place of the network's: 10Gbit, 1.25GB/s")
      .with_hint("RATE");
  table.add("latency", options.latency, "of a message, in place of the network's: 50us, 2ms")
      .with_hint("TIME");
  table
      .add("bucket-sizes", options.bucket_sizes,
           "bytes of gradients that are sent together; by default 256K, 1M, .. to all of them")
      .with_hint("BYTES");
  table
      .add("measure-seconds", options.measure_seconds,
           "that measuring takes, about, for every division of the cores; more is better on a busy "
           "machine")
      .with_hint("X")
      .above(0);
  table.add("top", options.top, "so many combinations are listed").with_hint("N").at_least(1);
  table.add("json", options.json, "print JSON");
  table
      .add("plot", options.plot,
           "write a picture of samples per second and exposed communication over instances")
      .with_hint("FILE.svg");
  for (const Option& option : table.options()) table.find(option.name, "").in_config = false;
}

bool is_given(const Option& option) { return option.origin.kind == Origin::Kind::command_line; }

void refuse_foreign_flags(const OptionTable& table) {
  for (const ForeignFlag& foreign : kForeignFlags) {
    const Option* option = table.find_exact(foreign.name);
    if (option == nullptr || !is_given(*option)) continue;
    throw UsageError("--", foreign.name, ": found it, but `pando plan` decides without it; wanted ",
                     foreign.instead);
  }
}

// What a configuration says of spreading gives way.
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

// What `pando run` would refuse.
void check_hosts(const PlanOptions& options) {
  const bool local = options.network == kLocal;
  if (local && options.instances > runtime::kMostDevices) {
    throw UsageError("--instances: found ", options.instances, " on one machine, wanted at most ",
                     runtime::kMostDevices, " with --network local");
  }
  const int each = options.instances_per_host;
  if (!local && options.instances > each && options.instances % each != 0) {
    throw UsageError("--instances-per-host: found ", each, ", which does not divide ",
                     options.instances, " --instances evenly over machines");
  }
}

void check_plot(const std::string& plot) {
  if (plot.empty()) return;
  const std::filesystem::path path(plot);
  if (path.extension() != ".svg") {
    throw UsageError("--plot: found '", plot, "', wanted a name that ends with .svg");
  }
  const std::filesystem::path folder = path.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    throw UsageError("--plot: the folder ", folder.string(),
                     " does not exist, wanted one that does");
  }
}

void validate(const PlanOptions& options) {
  if (options.network == kLocal && (options.bandwidth || options.latency)) {
    throw UsageError(options.bandwidth ? "--bandwidth" : "--latency",
                     ": found it together with --network local, where nothing leaves the machine; "
                     "wanted one of them");
  }
  check_hosts(options);
  check_plot(options.plot);
  for (const ByteSize& size : options.bucket_sizes) {
    if (size.bytes < 1) throw UsageError("--bucket-sizes: found 0, wanted at least 1");
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

// The flags that `pando train` gets as well, as they would be written.
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

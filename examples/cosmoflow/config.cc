// SPDX-License-Identifier: MIT
#include "config.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pando/pando.h>

#include "config_tables.h"
#include "pando/app/job/exit_code.h"
#include "pando/runtime/machine/topology.h"

namespace cosmo {

using pando::CommonOptions;
using pando::ConfigValue;
using pando::OptionTable;
using pando::UsageError;

namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultFile = "configs/graphcore.yaml";

std::vector<std::string> with_long_names(std::span<const std::string> args) {
  std::vector<std::string> result(args.begin(), args.end());
  for (std::string& arg : result) {
    if (arg == "-d") arg = "--distributed";
    if (arg == "-v") arg = "--verbose";
  }
  return result;
}

// A relative path is looked up in the working directory first, then next to the program.
std::string find_file(const std::string& name) {
  if (fs::exists(name)) return name;
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  const fs::path beside = program.parent_path() / name;
  if (!failure && fs::exists(beside)) return beside.string();
  throw UsageError("configuration '", name, "': no such file, here or in ",
                   program.parent_path().string(), "; expected a YAML file such as ", kDefaultFile);
}

void read_file(OptionTable& keys, const std::string& path) {
  const ConfigValue file = pando::load_yaml(path);
  if (file.kind != ConfigValue::Kind::map && file.kind != ConfigValue::Kind::null) {
    throw UsageError(path, ": expected lines of 'key: value'");
  }
  keys.assign_all(file, "");
}

// Restores defaults: a section in the file empties the lists that it does not mention.
void fill_lists(Config& config) {
  const Config defaults;
  if (config.data.sample_shape.empty()) config.data.sample_shape = defaults.data.sample_shape;
  if (config.data.target_shape.empty()) config.data.target_shape = defaults.data.target_shape;
  if (config.train.metrics.empty()) config.train.metrics = defaults.train.metrics;
}

// "FILE:LINE:COLUMN: section: key"; without line and column if the file does not have the key.
std::string place_of(OptionTable& keys, const Config& config, const char* section,
                     const char* key) {
  const pando::Option& option = keys.find(section, "").entries->find(key, "");
  if (option.origin.kind == pando::Origin::Kind::file) {
    return pando::concat(option.origin.place, ": ", key);
  }
  return pando::concat(config.file, ": ", section, ": ", key);
}

void check_shapes(OptionTable& keys, const Config& config) {
  const DataConfig& data = config.data;
  if (data.sample_shape.size() != 4) {
    throw UsageError(place_of(keys, config, "data", "sample_shape"), " is ",
                     fmt::format("{}", data.sample_shape),
                     ", expected [depth, height, width, channels]");
  }
  if (data.target_shape.size() != 1) {
    throw UsageError(place_of(keys, config, "data", "target_shape"), " is ",
                     fmt::format("{}", data.target_shape),
                     ", expected a list of one number, the number of targets of a sample");
  }
  if (config.model.input_shape && *config.model.input_shape != data.sample_shape) {
    throw UsageError(place_of(keys, config, "model", "input_shape"), " is ",
                     fmt::format("{}", *config.model.input_shape), ", expected data: sample_shape ",
                     fmt::format("{}", data.sample_shape));
  }
  if (config.model.target_size && *config.model.target_size != data.target_shape[0]) {
    throw UsageError(place_of(keys, config, "model", "target_size"), " is ",
                     *config.model.target_size, ", expected the targets of a sample, ",
                     data.target_shape[0]);
  }
}

void check_data(OptionTable& keys, const Config& config) {
  const DataConfig& data = config.data;
  if (data.name == "cosmo" && !data.data_dir) {
    throw UsageError(place_of(keys, config, "data", "name"),
                     " is cosmo, but data_dir is missing; set it in the file or with --data-dir");
  }
  if (data.name == "dummy" && data.data_dir) {
    throw UsageError("data_dir is '", *data.data_dir, "', but data: name of ", config.file,
                     " is dummy, which reads no files; use name: cosmo");
  }
  if (data.samples_per_file != 1) {
    throw UsageError(place_of(keys, config, "data", "samples_per_file"), " is ",
                     data.samples_per_file,
                     ", expected 1: each file of this data set holds one sample");
  }
}

void check_training(OptionTable& keys, const Config& config) {
  const std::string& name = config.optimizer.name;
  if (config.optimizer.momentum && name != "sgd" && name != "lars" && name != "rmsprop") {
    throw UsageError(place_of(keys, config, "optimizer", "momentum"), " has no effect on ", name,
                     "; remove it, or use SGD, LARS or RMSprop");
  }
  const std::vector<std::string> known = {"mae", "mse", "mean_absolute_error",
                                          "mean_squared_error"};
  for (const std::string& metric : config.train.metrics) {
    if (std::find(known.begin(), known.end(), metric) != known.end()) continue;
    throw UsageError(place_of(keys, config, "train", "metrics"), ": ",
                     pando::unknown_name_message("metric", metric, known));
  }
  if (config.use_estimator && config.data_benchmark) {
    throw UsageError("--use-estimator and --data-benchmark: use at most one of them");
  }
}

void note_shared_cores(Config& config) {
  const int cores = pando::runtime::query_topology().usable_cores();
  if (config.replicas <= cores) return;
  config.notes.push_back(
      fmt::format("{} replicas share {} core{}", config.replicas, cores, cores == 1 ? "" : "s"));
}

// In a job the launcher decides how many replicas there are.
void settle_replicas(Config& config, bool given) {
  namespace dist = pando::dist;
  if (dist::devices_per_replica() != 1) {
    throw UsageError("the launcher gives a replica ", dist::devices_per_replica(),
                     " devices; expected 1 (--ipus-per-replica 1): this program has no pipeline");
  }
  config.replicas = config.local_replicas = config.device.num_devices;
  const bool launched = dist::is_distributed() || dist::num_total_replicas() > 1;
  if (config.distributed && !launched) {
    config.notes.emplace_back(
        "--distributed: no launcher started this program, so it is the only instance; "
        "start several with pando run");
  }
  if (!launched) {
    note_shared_cores(config);
    return;
  }
  config.replicas = dist::num_total_replicas();
  config.local_replicas = dist::num_local_replicas();
  if (given && config.device.num_devices != config.replicas) {
    config.notes.push_back(
        fmt::format("--num-devices {} is ignored: the launcher started {} replicas",
                    config.device.num_devices, config.replicas));
  }
  config.device.num_devices = config.replicas;
}

void note_sharing(Config& config) {
  if (config.data.shard || config.replicas == 1) return;
  config.notes.emplace_back(
      "data: shard is false, which is ignored: replicas that train together always divide the "
      "samples, so that each sample is used once per epoch");
}

std::string yaml_of(const OptionTable& keys) {
  std::string text;
  for (const auto& option : keys.options()) {
    if (!option.entries) {
      text += fmt::format("{}: {}\n", option.name, to_yaml(option.show()));
      continue;
    }
    text += option.name + ":\n";
    for (const auto& entry : option.entries->options()) {
      const ConfigValue value = entry.show();
      if (value.kind == ConfigValue::Kind::null) continue;
      text += fmt::format("  {}: {}\n", entry.name, to_yaml(value));
    }
  }
  return text;
}

}  // namespace

Config read_config(std::span<const std::string> args) {
  Config config;
  OptionTable keys;
  OptionTable flags;
  CommonOptions common;
  add_keys(keys, config);
  add_flags(flags, config, common);
  const std::vector<std::string> words = with_long_names(args);
  parse_command_line(flags, common, words);
  config.help = common.help;
  if (config.help) return config;
  const std::string path = find_file(config.file.empty() ? kDefaultFile : config.file);
  read_file(keys, path);
  fill_lists(config);
  parse_command_line(flags, common, words);  // once more: flags win over the file
  config.file = path;
  check_shapes(keys, config);
  check_data(keys, config);
  check_training(keys, config);
  const auto from_flag = pando::Origin::Kind::command_line;
  settle_replicas(config, flags.find("num-devices", "").origin.kind == from_flag);
  note_sharing(config);
  config.text = yaml_of(keys);
  return config;
}

std::string help_text() {
  Config config;
  OptionTable flags;
  CommonOptions common;
  add_flags(flags, config, common);
  return "usage: cosmoflow [CONFIG] [flags]\n\nTrains a 3-D network on volumes of matter density "
         "and prints the speed. Flags override\nvalues of the configuration.\n\n" +
         pando::help_text(flags);
}

}  // namespace cosmo

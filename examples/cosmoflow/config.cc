// SPDX-License-Identifier: MIT
#include "config.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pando/options/command_line.h"
#include "pando/options/usage_error.h"
#include "pando/runtime/machine/topology.h"

namespace cosmo {

using pando::ConfigValue;
using pando::Option;
using pando::OptionTable;
using pando::UsageError;

namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultFile = "configs/graphcore.yaml";

// Pairs of an accepted text and the name that it stands for.
using Names = std::vector<std::pair<std::string, std::string>>;

void add_data_keys(OptionTable& keys, Config& config) {
  keys.add_choice("name", config.data, Names{{"dummy", "dummy"}, {"cosmo", "cosmo"}}, "");
  keys.add("n_train", config.n_train, "").at_least(1);
  keys.add("n_valid", config.n_valid, "").at_least(0);
  keys.add("shard", config.shard, "");
  keys.add("sample_shape", config.sample_shape, "").at_least(1);
  keys.add("target_shape", config.target_shape, "").at_least(1);
  keys.add("micro_batch_size", config.micro_batch_size, "").at_least(1);
  keys.add("n_epochs", config.n_epochs, "").at_least(1);
  keys.add("data_dir", config.data_dir, "");
  keys.add("samples_per_file", config.samples_per_file, "").at_least(1);
  keys.add("shuffle_train", config.shuffle_train, "");
  keys.add("shuffle_valid", config.shuffle_valid, "");
  keys.add("staged_files", config.staged_files, "");
  keys.add("prefetch", config.prefetch, "").at_least(1);
  keys.add("apply_log", config.apply_log, "");
}

void add_model_keys(OptionTable& keys, Config& config) {
  pando::CosmoflowOptions& network = config.network;
  const std::vector<std::pair<std::string, bool>> poolings = {{"MaxPool3D", false},
                                                              {"MaxPooling3D", false},
                                                              {"AvgPool3D", true},
                                                              {"AveragePooling3D", true}};
  const Names activations = {
      {"LeakyReLU", "leaky_relu"}, {"leaky_relu", "leaky_relu"}, {"ReLU", "relu"}, {"tanh", "tanh"},
      {"sigmoid", "sigmoid"},      {"linear", "linear"}};
  const Names models = {
      {"cosmoflow", "cosmoflow"}, {"cosmoflow_v1", "cosmoflow_v1"}, {"resnet", "cosmoflow_resnet"}};
  keys.add_choice("name", config.model, models, "");
  keys.add("input_shape", config.input_shape, "").at_least(1);
  keys.add("target_size", config.target_size, "").at_least(1);
  keys.add("conv_size", network.conv_size, "").at_least(1);
  keys.add("kernel_size", network.kernel_size, "").at_least(1);
  keys.add("n_conv_layers", network.conv_layers, "").at_least(1);
  keys.add("fc1_size", network.fc1_size, "").at_least(1);
  keys.add("fc2_size", network.fc2_size, "").at_least(1);
  keys.add_choice("hidden_activation", network.hidden_activation, activations, "");
  keys.add_choice("pooling_type", network.average_pooling, poolings, "");
  keys.add("dropout", network.dropout, "").at_least(0).below(1);
}

void add_training_keys(OptionTable& table, Config& config) {
  const Names optimizers = {{"Adadelta", "adadelta"}, {"SGD", "sgd"},         {"Adam", "adam"},
                            {"AdamW", "adamw"},       {"RMSprop", "rmsprop"}, {"LARS", "lars"}};
  const Names losses = {{"mse", "mse"},
                        {"mean_squared_error", "mse"},
                        {"mae", "mae"},
                        {"mean_absolute_error", "mae"}};
  OptionTable& optimizer = table.add_dictionary("optimizer", "");
  optimizer.add_choice("name", config.optimizer, optimizers, "");
  optimizer.add("lr", config.lr, "").above(0);
  optimizer.add("momentum", config.momentum, "").at_least(0).below(1);
  optimizer.add_choice<RateScaling>("lr_scaling", config.lr_scaling,
                                    {{"none", RateScaling::none},
                                     {"linear", RateScaling::linear},
                                     {"sqrt", RateScaling::square_root}},
                                    "");
  OptionTable& train = table.add_dictionary("train", "");
  train.add_choice("loss", config.loss, losses, "");
  train.add("metrics", config.metrics, "");
  OptionTable& device = table.add_dictionary("device_config", "");
  table.find("device_config", "").with_alias("ipu_config");
  device.add("iterations_per_loop", config.iterations_per_loop, "").at_least(1);
  device.add("num_devices", config.num_devices, "").with_alias("num_ipus").at_least(1);
}

void add_keys(OptionTable& table, Config& config) {
  table.add("output_dir", config.output_dir, "");
  table.add("seed", config.seed, "").at_least(0);
  add_data_keys(table.add_dictionary("data", ""), config);
  add_model_keys(table.add_dictionary("model", ""), config);
  add_training_keys(table, config);
}

// A flag that replaces the value of a key.
struct KeyFlag {
  const char *name, *section, *key, *hint, *help;
};

constexpr KeyFlag kKeyFlags[] = {
    {"data-dir", "data", "data_dir", "DIR", "folder with train/ and validation/"},
    {"n-train", "data", "n_train", "N", "training samples of an epoch"},
    {"n-valid", "data", "n_valid", "N", "validation samples; 0: no validation"},
    {"micro-batch-size", "data", "micro_batch_size", "N", "samples per step on each replica"},
    {"n-epochs", "data", "n_epochs", "N", "epochs of training"},
    {"apply-log", "data", "apply_log", "", "turn counts x into log(x + 1); otherwise x / mean(x)"},
    {"staged-files", "data", "staged_files", "", "keep samples in memory after their first use"},
    {"conv-size", "model", "conv_size", "N", "filters of the first convolution"},
    {"fc1-size", "model", "fc1_size", "N", "units of the first dense layer"},
    {"fc2-size", "model", "fc2_size", "N", "units of the second dense layer"},
    {"hidden-activation", "model", "hidden_activation", "", "activation of all but the last layer"},
    {"dropout", "model", "dropout", "RATE", "dropout rate after dense layers"},
    {"optimizer", "optimizer", "name", "", "optimizer"},
    {"lr", "optimizer", "lr", "RATE", "learning rate"},
    {"output-dir", "", "output_dir", "DIR", "folder for the files that the run writes"},
    {"iterations-per-loop", "device_config", "iterations_per_loop", "N",
     "steps per execution, without a return to the host"},
    {"num-devices", "device_config", "num_devices", "N", "replicas, each on its own device"}};

// The flag reads what its key reads, with the same limits.
void add_key_flag(OptionTable& flags, const KeyFlag& row, OptionTable& keys) {
  static std::string unused;
  OptionTable& section = *row.section == '\0' ? keys : *keys.find(row.section, "").entries;
  const Option& key = section.find(row.key, "");
  Option& flag = flags.add(row.name, unused, row.help).with_hint(row.hint);
  std::tie(flag.wanted, flag.type_limit, flag.choices) =
      std::tie(key.wanted, key.type_limit, key.choices);
  std::tie(flag.low, flag.high, flag.low_excluded, flag.high_excluded, flag.is_bool) =
      std::tie(key.low, key.high, key.low_excluded, key.high_excluded, key.is_bool);
  std::tie(flag.read, flag.show) = std::tie(key.read, key.show);
  flag.built_in = {};  // the file has the default
}

void add_flags(OptionTable& table, Config& config, OptionTable& keys) {
  table.add_positional("CONFIG", config.file,
                       "a YAML file, looked up here and next to the program (default "
                       "configs/graphcore.yaml)",
                       false);
  for (const KeyFlag& row : kKeyFlags) add_key_flag(table, row, keys);
  table.find("num-devices", "").with_alias("num-ipus");
  const auto add = [&](const char* name, bool& field, const char* help) {
    table.add(name, field, help).command_line_only();
  };
  add("use-estimator", config.use_estimator, "train with an Estimator instead of a Model");
  add("data-benchmark", config.data_benchmark, "measure only the data pipeline, without training");
  add("distributed", config.distributed,
      "the program is one of several instances (-d); this is also detected automatically");
  add("print-fom", config.print_fom, "print a last line of results for programs to read");
  add("verbose", config.verbose, "also show the network (-v)");
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

void read_file(OptionTable& keys, Config& config) {
  const ConfigValue file = pando::load_yaml(config.file);
  if (file.kind != ConfigValue::Kind::map && file.kind != ConfigValue::Kind::null) {
    throw UsageError(config.file, ": expected lines of 'key: value'");
  }
  keys.assign_all(file, "");
  // A section in the file empties the lists that it does not mention.
  const Config defaults;
  if (config.sample_shape.empty()) config.sample_shape = defaults.sample_shape;
  if (config.target_shape.empty()) config.target_shape = defaults.target_shape;
  if (config.metrics.empty()) config.metrics = defaults.metrics;
}

// Throws UsageError "FILE:LINE:COLUMN: section: key is VALUE, expected ..." unless it is right.
class Checks {
 public:
  Checks(OptionTable& keys, const Config& config) : keys_(keys), config_(config) {}

  void expect(bool right, const char* section, const char* key, const std::string& wanted) const {
    if (right) return;
    const Option& option = keys_.find(section, "").entries->find(key, "");
    const bool in_file = option.origin.kind == pando::Origin::Kind::file;
    throw UsageError(in_file ? option.origin.place : config_.file + ": " + section, ": ", key,
                     " is ", to_yaml(option.show()), ", ", wanted);
  }

  void run() const {
    const Config& c = config_;
    expect(c.sample_shape.size() == 4, "data", "sample_shape",
           "expected [depth, height, width, channels]");
    expect(c.target_shape.size() == 1, "data", "target_shape",
           "expected a list of one number, the number of targets of a sample");
    expect(!c.input_shape || *c.input_shape == c.sample_shape, "model", "input_shape",
           fmt::format("expected data: sample_shape {}", c.sample_shape));
    expect(!c.target_size || *c.target_size == c.target_shape[0], "model", "target_size",
           fmt::format("expected the targets of a sample, {}", c.target_shape[0]));
    expect(c.data != "cosmo" || c.data_dir, "data", "name",
           "but data_dir is missing; set it in the file or with --data-dir");
    if (c.data == "dummy" && c.data_dir) {
      throw UsageError("data_dir is '", *c.data_dir, "', but data: name of ", c.file,
                       " is dummy, which reads no files; use name: cosmo");
    }
    expect(c.samples_per_file == 1, "data", "samples_per_file",
           "expected 1: each file of this data set holds one sample");
    const bool has_momentum =
        c.optimizer == "sgd" || c.optimizer == "lars" || c.optimizer == "rmsprop";
    expect(!c.momentum || has_momentum, "optimizer", "momentum",
           fmt::format("but {} has none; remove it, or use SGD, LARS or RMSprop", c.optimizer));
    for (const std::string& metric : c.metrics) {
      const bool known = metric == "mae" || metric == "mse" || metric == "mean_absolute_error" ||
                         metric == "mean_squared_error";
      expect(known, "train", "metrics",
             fmt::format("expected mae or mse in place of '{}'; mae is always measured", metric));
    }
    if (c.use_estimator && c.data_benchmark) {
      throw UsageError("--use-estimator and --data-benchmark: use at most one of them");
    }
  }

 private:
  OptionTable& keys_;
  const Config& config_;
};

// In a job the launcher decides how many replicas there are.
void settle_replicas(Config& config, bool given) {
  namespace dist = pando::dist;
  if (dist::devices_per_replica() != 1) {
    throw UsageError("the launcher gives a replica ", dist::devices_per_replica(),
                     " devices; expected 1 (--ipus-per-replica 1): this program has no pipeline");
  }
  const bool launched = dist::is_distributed() || dist::num_total_replicas() > 1;
  if (config.distributed && !launched) {
    config.notes.emplace_back(
        "--distributed: no launcher started this program, so it is the only instance; start "
        "several with pando run");
  }
  if (launched && given && config.num_devices != dist::num_total_replicas()) {
    config.notes.push_back(
        fmt::format("--num-devices {} is ignored: the launcher started {} replicas",
                    config.num_devices, dist::num_total_replicas()));
  }
  if (launched) config.num_devices = dist::num_total_replicas();
  config.replicas = config.num_devices;
  config.local_replicas = launched ? dist::num_local_replicas() : config.num_devices;
  const int cores = pando::runtime::query_topology().usable_cores();
  if (!launched && config.replicas > cores) {
    config.notes.push_back(
        fmt::format("{} replicas share {} core{}", config.replicas, cores, cores == 1 ? "" : "s"));
  }
  if (!config.shard && config.replicas > 1) {
    config.notes.emplace_back(
        "data: shard is false, which is ignored: replicas that train together always divide the "
        "samples, so that each sample is used once per epoch");
  }
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

// The options of the program, bound to one Config.
struct Tables {
  Config config;
  OptionTable keys;
  OptionTable flags;
  pando::CommonOptions common;

  Tables() {
    add_keys(keys, config);
    add_flags(flags, config, keys);
    add_help_option(flags, common);
  }
};

}  // namespace

double Config::learning_rate() const {
  if (lr_scaling == RateScaling::linear) return lr * replicas;
  return lr_scaling == RateScaling::square_root ? lr * std::sqrt(replicas) : lr;
}

Config read_config(std::span<const std::string> args) {
  Tables tables;
  Config& config = tables.config;
  std::vector<std::string> words(args.begin(), args.end());
  std::ranges::replace(words, std::string("-d"), std::string("--distributed"));
  std::ranges::replace(words, std::string("-v"), std::string("--verbose"));
  parse_command_line(tables.flags, tables.common, words);
  config.help = tables.common.help;
  if (config.help) return config;
  config.file = find_file(config.file.empty() ? kDefaultFile : config.file);
  const std::string file = config.file;
  read_file(tables.keys, config);
  parse_command_line(tables.flags, tables.common, words);  // once more: flags win over the file
  config.file = file;
  Checks(tables.keys, config).run();
  settle_replicas(config, tables.flags.find("num-devices", "").origin.kind ==
                              pando::Origin::Kind::command_line);
  config.text = yaml_of(tables.keys);
  return config;
}

std::string help_text() {
  const Tables tables;
  return "usage: cosmoflow [CONFIG] [flags]\n\nTrains a 3-D network on volumes of matter density "
         "and prints the speed. Flags override\nvalues of the configuration.\n\n" +
         pando::help_text(tables.flags);
}

pando::Network make_network(const Config& config) {
  const pando::Shape sample(config.sample_shape);
  const int64_t targets = config.target_shape[0];
  if (config.model == "cosmoflow") return pando::cosmoflow(sample, targets, config.network);
  if (config.model == "cosmoflow_v1") return pando::cosmoflow_v1(sample, targets, config.network);
  return pando::cosmoflow_resnet(sample, targets, {.dropout = config.network.dropout});
}

}  // namespace cosmo

// SPDX-License-Identifier: MIT
#include "config_tables.h"

namespace cosmo {

using pando::Option;
using pando::OptionTable;

namespace {

// Pairs of an accepted text and the name that it stands for, such as "ReLU" and "relu".
using Names = std::vector<std::pair<std::string, std::string>>;

Names same(std::initializer_list<const char*> texts) {
  Names names;
  for (const char* text : texts) names.emplace_back(text, text);
  return names;
}

const Names& activations() {
  static const Names names = {
      {"LeakyReLU", "leaky_relu"}, {"leaky_relu", "leaky_relu"}, {"ReLU", "relu"}, {"tanh", "tanh"},
      {"sigmoid", "sigmoid"},      {"linear", "linear"}};
  return names;
}

const Names& optimizers() {
  static const Names names = {{"Adadelta", "adadelta"}, {"SGD", "sgd"},         {"Adam", "adam"},
                              {"AdamW", "adamw"},       {"RMSprop", "rmsprop"}, {"LARS", "lars"}};
  return names;
}

void add_data_keys(OptionTable& keys, DataConfig& data) {
  keys.add_choice("name", data.name, same({"dummy", "cosmo"}), "");
  keys.add("n_train", data.n_train, "").at_least(1);
  keys.add("n_valid", data.n_valid, "").at_least(0);
  keys.add("shard", data.shard, "");
  keys.add("sample_shape", data.sample_shape, "").at_least(1);
  keys.add("target_shape", data.target_shape, "").at_least(1);
  keys.add("micro_batch_size", data.micro_batch_size, "").at_least(1);
  keys.add("n_epochs", data.n_epochs, "").at_least(1);
  keys.add("data_dir", data.data_dir, "");
  keys.add("samples_per_file", data.samples_per_file, "").at_least(1);
  keys.add("shuffle_train", data.shuffle_train, "");
  keys.add("shuffle_valid", data.shuffle_valid, "");
  keys.add("staged_files", data.staged_files, "");
  keys.add("prefetch", data.prefetch, "").at_least(1);
  keys.add("apply_log", data.apply_log, "");
}

void add_model_keys(OptionTable& keys, ModelConfig& model) {
  keys.add_choice("name", model.name, same({"cosmoflow", "cosmoflow_v1", "resnet"}), "");
  keys.add("input_shape", model.input_shape, "").at_least(1);
  keys.add("target_size", model.target_size, "").at_least(1);
  keys.add("conv_size", model.conv_size, "").at_least(1);
  keys.add("kernel_size", model.kernel_size, "").at_least(1);
  keys.add("n_conv_layers", model.n_conv_layers, "").at_least(1);
  keys.add("fc1_size", model.fc1_size, "").at_least(1);
  keys.add("fc2_size", model.fc2_size, "").at_least(1);
  keys.add_choice("hidden_activation", model.hidden_activation, activations(), "");
  keys.add_choice("pooling_type", model.average_pooling,
                  {{"MaxPool3D", false},
                   {"MaxPooling3D", false},
                   {"AvgPool3D", true},
                   {"AveragePooling3D", true}},
                  "");
  keys.add("dropout", model.dropout, "").at_least(0).below(1);
}

// Adds a flag that replaces a value of the file; it has no default of its own.
template <typename T>
Option& override_flag(OptionTable& table, const char* name, T& field, const char* help) {
  Option& option = table.add(name, field, help);
  option.built_in = {};
  return option;
}

void add_data_flags(OptionTable& table, DataConfig& data) {
  table.begin_group("Data");
  override_flag(table, "data-dir", data.data_dir, "folder with train/ and validation/")
      .with_hint("DIR");
  override_flag(table, "n-train", data.n_train, "training samples of an epoch")
      .with_hint("N")
      .at_least(1);
  override_flag(table, "n-valid", data.n_valid, "validation samples; 0: no validation")
      .with_hint("N")
      .at_least(0);
  override_flag(table, "micro-batch-size", data.micro_batch_size,
                "samples per step on each replica")
      .with_hint("N")
      .at_least(1);
  override_flag(table, "n-epochs", data.n_epochs, "epochs of training").with_hint("N").at_least(1);
  override_flag(table, "apply-log", data.apply_log,
                "turn counts x into log(x + 1); otherwise into x / mean(x)");
  override_flag(table, "staged-files", data.staged_files,
                "keep samples in memory after their first use");
}

void add_model_flags(OptionTable& table, Config& config) {
  ModelConfig& model = config.model;
  table.begin_group("Model and training");
  override_flag(table, "conv-size", model.conv_size, "filters of the first convolution")
      .with_hint("N")
      .at_least(1);
  override_flag(table, "fc1-size", model.fc1_size, "units of the first dense layer")
      .with_hint("N")
      .at_least(1);
  override_flag(table, "fc2-size", model.fc2_size, "units of the second dense layer")
      .with_hint("N")
      .at_least(1);
  table
      .add_choice("hidden-activation", model.hidden_activation, activations(),
                  "activation of all layers except the last")
      .built_in = {};
  override_flag(table, "dropout", model.dropout, "dropout rate after dense layers")
      .with_hint("RATE")
      .at_least(0)
      .below(1);
  table.add_choice("optimizer", config.optimizer.name, optimizers(), "optimizer").built_in = {};
  override_flag(table, "lr", config.optimizer.lr, "learning rate").with_hint("RATE").above(0);
}

void add_run_flags(OptionTable& table, Config& config) {
  table.begin_group("Run");
  override_flag(table, "output-dir", config.output_dir, "folder for the files that the run writes")
      .with_hint("DIR");
  override_flag(table, "iterations-per-loop", config.device.iterations_per_loop,
                "steps per execution, without a return to the host")
      .with_hint("N")
      .at_least(1);
  override_flag(table, "num-devices", config.device.num_devices, "replicas, each on its own device")
      .with_alias("num-ipus")
      .with_hint("N")
      .at_least(1);
  table.add("use-estimator", config.use_estimator, "train with an Estimator instead of a Model");
  table.add("data-benchmark", config.data_benchmark,
            "measure only the data pipeline, without training");
  table.add("distributed", config.distributed,
            "the program is one of several instances (-d); this is also detected automatically");
  table.add("print-fom", config.print_fom, "print a last line of results for programs to read");
  table.add("verbose", config.verbose, "also show the network (-v)");
  for (const char* name :
       {"use-estimator", "data-benchmark", "distributed", "print-fom", "verbose"}) {
    table.find(name, name).command_line_only();
  }
}

}  // namespace

void add_keys(OptionTable& table, Config& config) {
  table.add("output_dir", config.output_dir, "");
  table.add("seed", config.seed, "").at_least(0);
  add_data_keys(table.add_dictionary("data", ""), config.data);
  add_model_keys(table.add_dictionary("model", ""), config.model);
  OptionTable& optimizer = table.add_dictionary("optimizer", "");
  optimizer.add_choice("name", config.optimizer.name, optimizers(), "");
  optimizer.add("lr", config.optimizer.lr, "").above(0);
  optimizer.add("momentum", config.optimizer.momentum, "").at_least(0).below(1);
  optimizer.add_choice<std::optional<RateScaling>>("lr_scaling", config.optimizer.lr_scaling,
                                                   {{"none", RateScaling::none},
                                                    {"linear", RateScaling::linear},
                                                    {"sqrt", RateScaling::square_root}},
                                                   "");
  OptionTable& train = table.add_dictionary("train", "");
  train.add_choice("loss", config.train.loss,
                   {{"mse", "mse"},
                    {"mean_squared_error", "mse"},
                    {"mae", "mae"},
                    {"mean_absolute_error", "mae"}},
                   "");
  train.add("metrics", config.train.metrics, "");
  OptionTable& device = table.add_dictionary("device_config", "");
  table.find("device_config", "").with_alias("ipu_config");
  device.add("iterations_per_loop", config.device.iterations_per_loop, "").at_least(1);
  device.add("num_devices", config.device.num_devices, "").with_alias("num_ipus").at_least(1);
}

void add_flags(OptionTable& table, Config& config, pando::CommonOptions& common) {
  table.add_positional("CONFIG", config.file,
                       "a YAML file, looked up here and next to the program (default "
                       "configs/graphcore.yaml)",
                       false);
  add_data_flags(table, config.data);
  add_model_flags(table, config);
  add_run_flags(table, config);
  pando::add_help_option(table, common);
}

}  // namespace cosmo

// The settings of the program: a YAML file, flags that override it, and the launcher of a job.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <pando/pando.h>

namespace cosmo {

enum class RateScaling { none, linear, square_root };

struct Config {
  std::string file;  // the file that was read
  std::string output_dir = "results";
  int64_t seed = 0;

  std::string data = "dummy";  // or cosmo
  std::optional<std::string> data_dir;
  int64_t n_train = 10000;
  int64_t n_valid = 0;
  bool shard = true;
  std::vector<int64_t> sample_shape = {64, 64, 64, 4};
  std::vector<int64_t> target_shape = {4};
  int64_t micro_batch_size = 1;
  int64_t n_epochs = 1;
  int64_t samples_per_file = 1;
  bool shuffle_train = true;
  bool shuffle_valid = false;
  bool staged_files = false;
  int prefetch = 4;
  bool apply_log = true;

  std::string model = "cosmoflow";
  std::optional<std::vector<int64_t>> input_shape;
  std::optional<int64_t> target_size;
  pando::CosmoflowOptions network;

  std::string optimizer = "adadelta";
  double lr = 0.5;
  std::optional<double> momentum;
  RateScaling lr_scaling = RateScaling::none;
  std::string loss = "mse";
  std::vector<std::string> metrics = {"mae"};

  int64_t iterations_per_loop = 5000;
  int num_devices = 1;

  bool use_estimator = false;
  bool data_benchmark = false;
  bool distributed = false;
  bool print_fom = false;
  bool verbose = false;
  bool help = false;

  int replicas = 1;        // of all instances
  int local_replicas = 1;  // of this instance
  std::vector<std::string> notes;
  std::string text;  // the effective values as YAML that can be read again

  int64_t samples_per_step() const { return micro_batch_size * replicas; }
  double learning_rate() const;  // after scaling
};

// Throws UsageError, which names the flag, or the file, line and key.
Config read_config(std::span<const std::string> args);

std::string help_text();

pando::Network make_network(const Config& config);

}  // namespace cosmo

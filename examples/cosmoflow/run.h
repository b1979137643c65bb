// What all ways of running the program share: its data, its output and the speed that it measures.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pando/pando.h>

#include "config.h"
#include "pando/app/flags/train_options.h"
#include "pando/app/job/instances.h"

namespace cosmo {

// The volumes: one random volume that is repeated, or files. Every instance of a job opens all of
// them; training divides the batches among the instances.
struct Data {
  pando::Dataset train;                      // n_train samples
  std::optional<pando::Dataset> validation;  // none if n_valid is 0

  // The training samples without end, in the order of training.
  pando::Dataset stream(const Config& config) const;
};

// Throws IoError, or UsageError if a number does not fit.
Data open_data(const Config& config);

// The number of steps of training.
struct Plan {
  int64_t loops = 0;            // executions of iterations_per_loop steps
  int64_t loops_per_epoch = 0;  // 0: an epoch ends within a loop
  int64_t steps = 0;            // steps of all epochs; steps after the last whole loop are skipped
};
// Throws UsageError, with the rule and a remedy, if the steps do not fill one loop or, for an
// estimator, are not a multiple of a loop.
Plan make_plan(const Config& config);

// The program with its settings and data, as the functions below see it.
struct Run {
  const Config& config;
  const Data& data;
  const pando::app::Instances& instances;

  // Prints a line to standard output immediately; only the first instance prints.
  void tell(std::string_view line) const;
  // Replaces a file in the output folder; only the first instance writes. Throws IoError in all
  // instances.
  void write(const std::string& name, const std::string& text) const;
  std::string path(const std::string& name) const { return config.output_dir + "/" + name; }
};

// The loops so far and what validation found.
class Results {
 public:
  explicit Results(const Run& run) : run_(run) {}

  // Prints a line for the loop: its samples on all replicas, and its mean loss and error.
  void add_loop(int64_t samples, double seconds, const pando::Logs& logs);
  bool empty() const { return loops_.empty(); }

  std::string table() const;  // a row per loop; a batch is what all replicas process in a step
  // Prints the table, the summary, the validation and with --print-fom the line for programs, once.
  void tell();

  pando::Logs validation;  // loss and metrics, without a prefix; empty: there was none

 private:
  struct Loop {
    int64_t samples = 0;
    double seconds = 0;
  };
  double seconds() const;
  double samples_per_second() const;

  const Run& run_;
  std::vector<Loop> loops_;
  bool told_ = false;
};

// The options of `pando train` that mean the same as the configuration.
pando::app::TrainOptions train_options(const Run& run);

// "loss 0.0123, mae 0.0811"
std::string text_of(const pando::Logs& logs);

// The three ways to run; they return the exit code of the program.
int run_training(const Run& run);        // by `pando train`
int run_estimator(const Run& run);       // with an Estimator; a later run continues from its folder
int run_data_benchmark(const Run& run);  // only the host's preparation of batches

}  // namespace cosmo

// The options of `pando train`.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "pando/app/checkpoint_flags.h"
#include "pando/app/command_line.h"
#include "pando/app/data_flags.h"
#include "pando/app/device_flags.h"
#include "pando/app/fraction.h"
#include "pando/app/model_flags.h"
#include "pando/app/options.h"
#include "pando/app/silicon_flags.h"
#include "pando/app/validation_flags.h"

namespace pando::app {

enum class OptimizerKind { sgd, adam, adamw, rmsprop, adadelta };

// The keys of --optimizer-params. What is not given has the default of Keras, except the momentum
// of sgd, which is 0.9.
struct OptimizerParams {
  std::optional<double> momentum;      // sgd, rmsprop
  std::optional<bool> nesterov;        // sgd
  std::optional<double> beta_1;        // adam, adamw
  std::optional<double> beta_2;        // adam, adamw
  std::optional<double> rho;           // rmsprop, adadelta
  std::optional<double> epsilon;       // all but sgd
  std::optional<double> weight_decay;  // adamw
};

struct TrainOptions : ModelFlags {
  // The rate is this times the global batch size unless --learning-rate gives it: 0.01 at 64.
  static constexpr double kInitialLearningRate = 1.5625e-4;
  static constexpr double kAdaptiveLearningRate = 0.001;  // of all optimizers but sgd, as in Keras

  DataFlags data;

  int64_t micro_batch_size = 64;
  int64_t num_epochs = 3;
  int64_t weight_updates_per_epoch = -1;  // -1: the whole global batches of the data
  int64_t seed = 0;                       // fixed: the same command gives the same result

  OptimizerKind optimizer = OptimizerKind::sgd;
  OptimizerParams optimizer_params;
  std::optional<double> learning_rate;  // parse_train_options fills it in

  ValidationFlags phases;
  DeviceFlags devices;
  SiliconFlags silicon;
  int threads = 0;  // of one device; 0: the cores that this process may use
  int slices = 0;   // 0: as many as cores of a device; parse_train_options fills it in

  // When the host gets control back. Steps are those of a replica; 0: as --logs-per-epoch wants,
  // and a twentieth of an epoch when that is 1, so that the progress bar moves.
  int64_t steps_per_execution = 0;
  Fraction logs_per_epoch = Fraction(1);
  bool logs_are_given = false;  // by a flag or a file: executions are then as long as events allow
  CheckpointFlags checkpoints;
  int prefetch_depth = 3;

  std::vector<std::string> disable_pass;
  std::string dump_ir;  // a directory, or "-" for standard output; empty: no
  bool verify = false;
  bool compile_report = false;

  std::string run_dir;  // empty: runs/<model>-<date>-<time>
  std::string trace;    // a file for the Chrome trace; empty: none
  bool quiet = false;
  bool verbose = false;
  bool dry_run = false;

  std::string config_text;            // every effective option as YAML, for the run directory
  std::vector<std::string> warnings;  // about options that do not do all that they say

  double effective_learning_rate(int64_t global_batch_size) const;
};

// Binds the options to the table; both must outlive it.
void add_train_options(OptionTable& table, TrainOptions& options);

// What no single flag can check: throws UsageError that names the flags.
void validate(const TrainOptions& options);

// The whole way from arguments to checked options. Gives nothing when --help or --print-config was
// asked for and is answered on `out`.
std::optional<TrainOptions> parse_train_options(std::span<const std::string> args,
                                                std::ostream& out);

// The last part of it: checks, chooses what is open and answers --print-config. Requires: `table`
// is bound to `options`.
std::optional<TrainOptions> settle_train_options(OptionTable& table, const CommonOptions& common,
                                                 TrainOptions& options, std::ostream& out);

}  // namespace pando::app
